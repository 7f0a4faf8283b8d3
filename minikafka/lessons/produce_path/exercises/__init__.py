"""The exercises of the lesson *The produce path*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lab.exercises.produce_path.answered_when import answered_when
from minikafka.lab.exercises.produce_path.append_allowed import append_allowed
from minikafka.lab.exercises.produce_path.delayed_required import delayed_required
from minikafka.lab.exercises.produce_path.enough_replicas import enough_replicas
from minikafka.lab.exercises.produce_path.sorted_partitions import sorted_partitions

EXERCISES = answered_early(append_allowed, delayed_required, enough_replicas, sorted_partitions, answered_when)
