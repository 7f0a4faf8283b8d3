"""The exercise of the lesson *Leader epochs*."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.leader_epochs.exercises.elected_leader import elected_leader

EXERCISES = answered_early(elected_leader)
