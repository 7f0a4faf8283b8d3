"""The exercises of the lesson *Replication*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.replication.exercises.marks_over_time import marks_over_time
from minikafka.lessons.replication.exercises.out_of_sync import out_of_sync

EXERCISES = answered_early(out_of_sync, marks_over_time)
