"""The exercises of the lesson *Append*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.append.exercises.first_offsets_given import first_offsets
from minikafka.lessons.append.exercises.follower_ends import follower_ends

EXERCISES = answered_early(first_offsets, follower_ends)
