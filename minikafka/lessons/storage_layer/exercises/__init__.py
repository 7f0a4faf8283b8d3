"""The exercises of the lesson *Background tasks*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.storage_layer.exercises.deleted_by_retention import deleted_by_retention
from minikafka.lessons.storage_layer.exercises.written_recovery_points import written_recovery_points

EXERCISES = answered_early(written_recovery_points, deleted_by_retention)
