"""What a log is at one moment, as far as others can see it."""

from typing import NamedTuple

from minikafka.checkpoint.leader_epoch_checkpoint_file import EpochEntry
from minikafka.log.producer.producer_state_entry import ProducerStateEntry


class ProducerSnapshot(NamedTuple):
    """What the log knows of one producer: its last batch, and its open transaction; −1 for what is not there.

    `last_timestamp`: in ms. `last_offset`: inclusive. Kafka: `ProducerStateEntry`.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int

    @staticmethod
    def of(entry: ProducerStateEntry) -> "ProducerSnapshot":
        """What `entry` says, which goes on changing."""
        return ProducerSnapshot(
            entry.producer_id,
            entry.producer_epoch,
            entry.last_seq,
            entry.last_data_offset,
            entry.last_timestamp,
            entry.coordinator_epoch,
            -1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
        )


class LogStateSnapshot(NamedTuple):
    """The offsets, segments, leader epochs and producers of a log, which belong together.

    - `log_start_offset`: inclusive; all other offsets are upper bounds, exclusive.
    - `segments`: (base offset, size in bytes) of each, by offset.
    - `epochs`: each leader epoch with its start offset, by epoch. `producers`: by id.
    """

    log_start_offset: int
    recovery_point: int
    high_watermark: int
    last_stable_offset: int
    log_end_offset: int
    segments: tuple[tuple[int, int], ...]
    epochs: tuple[EpochEntry, ...]
    producers: tuple[ProducerSnapshot, ...]
