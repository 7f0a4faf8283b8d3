"""The exercises of the lesson *Compaction*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.compaction.exercises.filthiest_log import filthiest_log
from minikafka.lessons.compaction.exercises.map_position import map_position

EXERCISES = answered_early(map_position, filthiest_log)
