"""The exercises of the lesson *Start and stop*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.start_and_stop.exercises.believed_checkpoint import believed_checkpoint
from minikafka.lessons.start_and_stop.exercises.directory_name import directory_name
from minikafka.lessons.start_and_stop.exercises.next_log_directory import next_log_directory

EXERCISES = answered_early(next_log_directory, directory_name, believed_checkpoint)
