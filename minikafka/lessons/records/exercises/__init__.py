"""The exercises of the lesson *Records*, a module for each; `sent_batches` makes the batches that they ask about."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.records.exercises.attribute_bits import attribute_bits
from minikafka.lessons.records.exercises.batch_sizes import batch_sizes
from minikafka.lessons.records.exercises.new_checksum import new_checksum
from minikafka.lessons.records.exercises.removed_offsets import removed_offsets

EXERCISES = answered_early(attribute_bits, new_checksum, batch_sizes, removed_offsets)
