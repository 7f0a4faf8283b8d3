"""The exercises of the lesson *Segments*, a module for each. `observed` and `retention` hold what several of them share."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.segments.exercises.index_entries import sparse_index
from minikafka.lessons.segments.exercises.retention_by_size import by_size
from minikafka.lessons.segments.exercises.retention_by_time import by_time
from minikafka.lessons.segments.exercises.rolled_segments import rolling

EXERCISES = answered_early(rolling, sparse_index, by_size, by_time)
