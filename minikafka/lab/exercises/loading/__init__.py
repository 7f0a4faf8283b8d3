"""The exercises of the lesson *Loading and recovery*, a module for each. `wrecked` holds what all of them share.

Spark judges from tables: which batches there were, and what happened to them. minikafka and Kafka answer the same cases
by loading a real directory to which the same has happened.
"""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lab.exercises.loading.bent_checkpoints import bent
from minikafka.lab.exercises.loading.damaged_log import damaged_end
from minikafka.lab.exercises.loading.recovered_epochs import epoch_entries
from minikafka.lab.exercises.loading.unfinished_replacement import half_done

EXERCISES = answered_early(damaged_end, epoch_entries, half_done, bent)
