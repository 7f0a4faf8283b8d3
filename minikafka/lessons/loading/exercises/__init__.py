"""The exercises of the lesson *Loading*, a module for each.

Spark judges from tables: which files and batches there were. minikafka and Kafka answer the same cases by loading a
real directory of such files.
"""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.loading.exercises.bent_checkpoints import bent
from minikafka.lessons.loading.exercises.end_after_clean_stop import ends
from minikafka.lessons.loading.exercises.leftover_files import leftovers
from minikafka.lessons.loading.exercises.unfinished_replacement import half_done

EXERCISES = answered_early(ends, half_done, bent, leftovers)
