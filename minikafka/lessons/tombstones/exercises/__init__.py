"""The exercises of the lesson *Tombstones and markers*."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.tombstones.exercises.gone_tombstones import gone_tombstones
from minikafka.lessons.tombstones.exercises.survivors import survivors

EXERCISES = answered_early(survivors, gone_tombstones)
"""The exercises in the order in which the lesson sets them."""
