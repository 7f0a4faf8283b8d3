"""The exercises of the lesson *Loading*, a module for each.

Spark judges from tables: which files and batches there were. minikafka and Kafka answer the same cases by loading a
real directory of such files.
"""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lab.exercises.loading.bent_checkpoints import bent
from minikafka.lab.exercises.loading.end_after_clean_stop import ends
from minikafka.lab.exercises.loading.leftover_files import leftovers
from minikafka.lab.exercises.loading.unfinished_replacement import half_done

EXERCISES = answered_early(ends, half_done, bent, leftovers)
