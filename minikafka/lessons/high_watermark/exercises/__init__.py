"""The exercises of the lesson *High watermark*, a module for each. `replica_ends` holds what two of them share."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lab.exercises.high_watermark.acks_all_answers import acks_all
from minikafka.lab.exercises.high_watermark.clamped_mark import clamp
from minikafka.lab.exercises.high_watermark.incremented_mark import increment
from minikafka.lab.exercises.high_watermark.least_end_offset import least_end

EXERCISES = answered_early(least_end, clamp, increment, acks_all)
