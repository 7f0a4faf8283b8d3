"""The exercises of *Start here*, a module for each. `places` has what both share: where offsets lie in a log."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.start.exercises.file_of_an_offset import file_names
from minikafka.lessons.start.exercises.first_bytes import first_bytes

EXERCISES = answered_early(file_names, first_bytes)
