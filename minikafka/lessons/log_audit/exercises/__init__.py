"""The exercises of the lesson *An audit of a log directory*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.log_audit.exercises.equal_replicas import equal_replicas
from minikafka.lessons.log_audit.exercises.group_lag import group_lag
from minikafka.lessons.log_audit.exercises.saved_by_compaction import saved_by_compaction

EXERCISES = answered_early(group_lag, equal_replicas, saved_by_compaction)
