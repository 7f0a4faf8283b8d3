"""The exercise of the lesson *Tombstones and markers*."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.tombstones.exercises.survivors import survivors

EXERCISES = answered_early(survivors)
