"""The exercises of the lesson *The wire*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.wire.exercises.answer_times import answer_times
from minikafka.lessons.wire.exercises.header_fields import header_fields
from minikafka.lessons.wire.exercises.session_partitions import session_partitions
from minikafka.lessons.wire.exercises.whole_requests import whole_requests

EXERCISES = answered_early(header_fields, whole_requests, answer_times, session_partitions)
"""The exercises in the order in which the lesson sets them."""
