"""The exercise of the lesson *From an offset to bytes*."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.offset_to_bytes.exercises.answer_of_a_read import answered

EXERCISES = answered_early(answered)
"""The exercises in the order in which the lesson sets them."""
