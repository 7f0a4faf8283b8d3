"""The exercises of the lesson *Replication and leader epochs*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.replication.exercises.elected_leader import elected_leader
from minikafka.lessons.replication.exercises.marks_over_time import marks_over_time
from minikafka.lessons.replication.exercises.out_of_sync import out_of_sync

EXERCISES = answered_early(out_of_sync, marks_over_time, elected_leader)
