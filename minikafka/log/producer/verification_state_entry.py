"""What is remembered about a producer whose transaction is being verified."""

from minikafka.log.producer.verification_guard import VerificationGuard


class VerificationStateEntry:
    """The guard of a producer that waits for verification, and the lowest sequence that it tried to write meanwhile.

    When a batch fails verification with a retriable error, no later batch (with a higher sequence) may overtake it,
    since the first batch's retry would then be out of order for ever. So higher sequences are refused until the lowest
    one has been written. A newer epoch starts the sequences afresh.

    `timestamp` is when the entry was made (ms); `supports_epoch_bump` says that the client uses transactions v2.
    Kafka: `VerificationStateEntry`.
    """

    __slots__ = ("timestamp", "verification_guard", "lowest_sequence", "epoch", "supports_epoch_bump")

    def __init__(self, *, timestamp: int, sequence: int, epoch: int, supports_epoch_bump: bool):
        self.timestamp = timestamp
        self.verification_guard = VerificationGuard()
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump

    def maybe_update_lowest_sequence_and_epoch(self, incoming_sequence: int, incoming_epoch: int) -> None:
        """Note a lower sequence of the same epoch, or any sequence of a newer epoch.

        Kafka: `VerificationStateEntry.maybeUpdateLowestSequenceAndEpoch`.
        """
        if incoming_epoch == self.epoch and incoming_sequence < self.lowest_sequence:
            self.lowest_sequence = incoming_sequence
        if incoming_epoch > self.epoch:
            self.epoch = incoming_epoch
            self.lowest_sequence = incoming_sequence
