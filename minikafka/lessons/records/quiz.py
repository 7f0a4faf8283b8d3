"""What the quiz asks about the lesson *Records*."""

from minikafka.lab.stage.batch_bytes import batch_of, batches_in
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, Question
from minikafka.lab.teaching.quiz.small_runs import log_after_three


def varint_of_minus_65() -> int:
    """Its bytes."""
    from minikafka.record.format.varint import write_varint

    out = bytearray()
    write_varint(-65, out)
    return len(out)


def fields_a_leader_writes() -> tuple[str, ...]:
    """The fields of a batch that differ between what came in and what is stored, in a topic with CreateTime."""
    from minikafka.lab.widgets.append_tables import changed_fields

    log, batch = log_after_three(), batch_of("one", "two")
    before = bytes(batch.buffer)
    log.append_as_leader(batch, leader_epoch=4)
    return tuple(row[0] for row in changed_fields(before, batches_in(log)[-1].buffer).rows)


QUESTIONS = (
    Question(
        COMPUTE,
        "Varints",
        "How many bytes does a record need for the number −65?",
        varint_of_minus_65,
        "Zigzag makes 129 of it, which needs eight bits: two groups of seven.",
    ),
    Question(
        CHOOSE,
        "Offsets in place",
        "A producer's batch of two records comes to a log that ends at 3, in a topic with CreateTime; the leader's"
        " epoch is 4. Which fields of the stored batch differ from what was sent?",
        fields_a_leader_writes,
        "A producer counts from 0 and knows no epoch. Both fields lie in front of what the CRC covers, so it still"
        " holds.",
        {
            ("baseOffset",): "the base offset",
            ("baseOffset", "partitionLeaderEpoch"): "the base offset and the leader epoch",
            ("baseOffset", "partitionLeaderEpoch", "crc"): "the base offset, the leader epoch and the CRC",
            ("baseOffset", "crc", "records"): "the base offset, the CRC, and the offset of each record",
        },
    ),
)
