"""The exercises of the lesson *Stored and safe*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.stored_and_safe.exercises.log_start_offset import log_start
from minikafka.lessons.stored_and_safe.exercises.stored_codecs import stored_codecs

EXERCISES = answered_early(stored_codecs, log_start)
