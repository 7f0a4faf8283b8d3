"""The exercises of the lesson *From an offset to bytes*."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.offset_to_bytes.exercises.answer_of_a_read import answered
from minikafka.lessons.offset_to_bytes.exercises.begin_of_a_read import begins

EXERCISES = answered_early(answered, begins)
"""The exercises in the order in which the lesson sets them."""
