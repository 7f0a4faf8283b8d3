"""The exercises of the lesson *Leader epochs*."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.leader_epochs.exercises.elected_leader import elected_leader
from minikafka.lessons.leader_epochs.exercises.ends_of_epochs import ends_of_epochs

EXERCISES = answered_early(elected_leader, ends_of_epochs)
"""The exercises in the order in which the lesson sets them."""
