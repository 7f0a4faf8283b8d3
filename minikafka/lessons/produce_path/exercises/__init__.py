"""The exercises of the lesson *The produce path*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.produce_path.exercises.append_allowed import append_allowed
from minikafka.lessons.produce_path.exercises.sorted_partitions import sorted_partitions

EXERCISES = answered_early(append_allowed, sorted_partitions)
