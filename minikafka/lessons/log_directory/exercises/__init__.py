"""The exercises of the lesson *A log directory at scale*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.log_directory.exercises.moment import moment
from minikafka.lessons.log_directory.exercises.open_transaction import open_transaction

EXERCISES = answered_early(open_transaction, moment)
