"""The exercises of the lesson *The produce path*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.produce_path.exercises.answered_when import answered_when
from minikafka.lessons.produce_path.exercises.append_allowed import append_allowed
from minikafka.lessons.produce_path.exercises.delayed_required import delayed_required
from minikafka.lessons.produce_path.exercises.enough_replicas import enough_replicas
from minikafka.lessons.produce_path.exercises.sorted_partitions import sorted_partitions

EXERCISES = answered_early(append_allowed, delayed_required, enough_replicas, sorted_partitions, answered_when)
