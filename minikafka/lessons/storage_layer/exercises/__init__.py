"""The exercises of the lesson *Storage layer*, a module for each. `managed` starts the log managers that are asked."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.storage_layer.exercises.believed_checkpoint import believed_checkpoint
from minikafka.lessons.storage_layer.exercises.deleted_by_retention import deleted_by_retention
from minikafka.lessons.storage_layer.exercises.directory_name import directory_name
from minikafka.lessons.storage_layer.exercises.next_log_directory import next_log_directory
from minikafka.lessons.storage_layer.exercises.written_recovery_points import written_recovery_points

EXERCISES = answered_early(
    next_log_directory, directory_name, written_recovery_points, deleted_by_retention, believed_checkpoint
)
