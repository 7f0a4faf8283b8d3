"""The exercises of the lesson *Compaction*, a module for each."""

from minikafka.lab.exercises.compaction.cleanable_range import cleanable_range
from minikafka.lab.exercises.compaction.filthiest_log import filthiest_log
from minikafka.lab.exercises.compaction.map_position import map_position
from minikafka.lab.exercises.compaction.retained_record import retained_record
from minikafka.lab.exercises.compaction.survivors import survivors
from minikafka.lab.exercises.exercise import answered_early

EXERCISES = answered_early(map_position, cleanable_range, filthiest_log, retained_record, survivors)
