"""The exercises of the lesson *The produce purgatory*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.produce_purgatory.exercises.answered_when import answered_when
from minikafka.lessons.produce_purgatory.exercises.delayed_required import delayed_required
from minikafka.lessons.produce_purgatory.exercises.enough_replicas import enough_replicas

EXERCISES = answered_early(delayed_required, enough_replicas, answered_when)
