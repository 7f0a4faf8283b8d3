"""The exercises of the lesson *Read isolation*, a module for each. `stories` holds what most of them share."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.read.exercises.committed_records import read_committed
from minikafka.lessons.read.exercises.skipped_records import skipped
from minikafka.lessons.read.exercises.waiting_by_code import between_code
from minikafka.lessons.read.exercises.waiting_by_query import between_spark

EXERCISES = answered_early(between_code, between_spark, skipped, read_committed)
