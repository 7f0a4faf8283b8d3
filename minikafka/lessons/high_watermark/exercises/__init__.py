"""The exercises of the lesson *High watermark*, a module for each. `replica_ends` holds what two of them share."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.high_watermark.exercises.acks_all_answers import acks_all
from minikafka.lessons.high_watermark.exercises.clamped_mark import clamp
from minikafka.lessons.high_watermark.exercises.incremented_mark import increment
from minikafka.lessons.high_watermark.exercises.least_end_offset import least_end

EXERCISES = answered_early(least_end, clamp, increment, acks_all)
