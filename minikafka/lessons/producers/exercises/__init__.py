"""The exercises of the lesson *Producers and transactions*, a module for each."""

from minikafka.lab.exercises.exercise import answered_early
from minikafka.lab.exercises.producers.known_producers import known_producers
from minikafka.lab.exercises.producers.last_stable_offset import last_stable
from minikafka.lab.exercises.producers.producer_sequences import sequences
from minikafka.lab.exercises.producers.remembered_producers import remembered

EXERCISES = answered_early(sequences, last_stable, known_producers, remembered)
