"""What the quiz asks about the lesson *Records*."""

from minikafka.lab.stage.batch_bytes import batch_of, batches_in
from minikafka.lab.stage.workbench import fresh_log
from minikafka.lab.teaching.quiz.question import CHOOSE, Question
from minikafka.lab.teaching.quiz.small_runs import log_after_three
from minikafka.record.format.varint import write_varint


def bytes_of_an_offset() -> int:
    """The bytes that the third record of a stored batch needs for its offset."""
    log, out = fresh_log(), bytearray()
    log.truncate_fully_and_start_at(1_000_000)
    log.append_as_leader(batch_of("one", "two", "three"), leader_epoch=0)
    [batch] = batches_in(log)
    write_varint([record.offset for record in batch][2] - batch.base_offset, out)
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
        CHOOSE,
        "Varints",
        "The third record of a batch that begins at offset 1,000,000: how many bytes does the record need for its"
        " offset?",
        bytes_of_an_offset,
        "It holds its distance from the batch's base offset, 2, as a varint.",
        {1: "1", 3: "3", 4: "4", 8: "8"},
        card="A record holds its offset and its timestamp as distances from the batch's … −64 to 63 take one byte",
        replies={
            3: "That is the varint of 1,000,002. The record holds its distance from the base offset.",
            4: "So many has an entry of an index for an offset.",
            8: "So many has the base offset in the batch's header, once for all records.",
        },
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
            ("baseOffset", "partitionLeaderEpoch", "crc"): "the base offset, the leader epoch and the CRC",
            ("baseOffset",): "the base offset",
            ("baseOffset", "crc", "records"): "the base offset, the CRC, and the offset of each record",
            ("baseOffset", "partitionLeaderEpoch"): "the base offset and the leader epoch",
        },
        card="A leader writes base offset and leader epoch into the batch and leaves the producer's CRC",
        replies={
            ("baseOffset", "partitionLeaderEpoch", "crc"): "The CRC covers neither field, so it need not change.",
            ("baseOffset",): "The leader writes its epoch, too.",
            ("baseOffset", "crc", "records"): "A record holds its distance from the base offset, and that stays.",
        },
    ),
)
