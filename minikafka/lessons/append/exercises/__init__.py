"""The exercises of the lesson *Append*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.append.exercises.first_offsets_given import first_offsets
from minikafka.lessons.append.exercises.follower_ends import follower_ends
from minikafka.lessons.append.exercises.log_start_offset import log_start
from minikafka.lessons.append.exercises.stored_codecs import stored_codecs

EXERCISES = answered_early(first_offsets, stored_codecs, follower_ends, log_start)
