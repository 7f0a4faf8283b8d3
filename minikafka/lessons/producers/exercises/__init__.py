"""The exercises of the lesson *Producers and transactions*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lessons.producers.exercises.known_producers import known_producers
from minikafka.lessons.producers.exercises.last_stable_offset import last_stable
from minikafka.lessons.producers.exercises.producer_sequences import sequences
from minikafka.lessons.producers.exercises.remembered_producers import remembered

EXERCISES = answered_early(sequences, last_stable, known_producers, remembered)
