"""The exercises of the lesson *Append*, a module for each."""

from minikafka.lab.exercises.append.first_offsets_given import first_offsets
from minikafka.lab.exercises.append.follower_ends import follower_ends
from minikafka.lab.exercises.append.log_start_offset import log_start
from minikafka.lab.exercises.append.stored_codecs import stored_codecs
from minikafka.lab.exercises.exercise import answered_early

EXERCISES = answered_early(first_offsets, stored_codecs, follower_ends, log_start)
