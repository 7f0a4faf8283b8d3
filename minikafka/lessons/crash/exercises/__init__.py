"""The exercises of the lesson *Crash and recovery*, a module for each.

Spark judges from tables: which batches there were, and what happened to them. minikafka and Kafka answer the same cases
by loading a real directory to which the same has happened.
"""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.crash.exercises.damaged_log import damaged_end
from minikafka.lessons.crash.exercises.recovery_points import kept_safe

EXERCISES = answered_early(damaged_end, kept_safe)
