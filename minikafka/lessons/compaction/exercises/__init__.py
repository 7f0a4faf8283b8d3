"""The exercises of the lesson *Compaction*, a module for each."""

from minikafka.lab.exercises.compaction.filthiest_log import filthiest_log
from minikafka.lab.exercises.compaction.map_position import map_position
from minikafka.lab.exercises.compaction.survivors import survivors
from minikafka.lab.exercises.exercise import answered_early

EXERCISES = answered_early(map_position, filthiest_log, survivors)
