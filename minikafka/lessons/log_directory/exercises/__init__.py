"""The exercises of the lesson *A log directory at scale*, a module for each. `drawn` has the directories that are asked."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.log_directory.exercises.equal_replicas import equal_replicas
from minikafka.lessons.log_directory.exercises.group_lag import group_lag
from minikafka.lessons.log_directory.exercises.moment import moment
from minikafka.lessons.log_directory.exercises.open_transaction import open_transaction
from minikafka.lessons.log_directory.exercises.saved_by_compaction import saved_by_compaction

EXERCISES = answered_early(open_transaction, group_lag, moment, equal_replicas, saved_by_compaction)
