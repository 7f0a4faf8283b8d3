"""The exercises of the lesson *Append*, a module for each."""

from minikafka.lab.exercises.append.first_offsets_given import first_offsets
from minikafka.lab.exercises.append.last_stable_offset import last_stable
from minikafka.lab.exercises.append.log_start_offset import log_start
from minikafka.lab.exercises.append.producer_sequences import sequences
from minikafka.lab.exercises.exercise import answered_early

EXERCISES = answered_early(first_offsets, sequences, last_stable, log_start)
