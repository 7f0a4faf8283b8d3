"""The exercises of the lesson *Damaged and missing files*, a module for each.

Spark judges from tables: which batches there were, and what happened to them. minikafka and Kafka answer the same cases
by loading a real directory to which the same has happened.
"""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.damaged_files.exercises.holed_log import holes
from minikafka.lessons.damaged_files.exercises.recovered_epochs import epoch_entries

EXERCISES = answered_early(epoch_entries, holes)
