"""When a leader must compute a new CRC for a batch that it changes in place."""

import random
from collections.abc import Callable
from functools import cache
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.records import solutions
from minikafka.lessons.records.exercises.sent_batches import first_batch
from minikafka.witness.log.batch import Batch

_CREATE, _APPEND = "CreateTime", "LogAppendTime"
_ASKED = (  # the batch's type and max timestamp, the topic's type, the clock (ms)
    (_CREATE, 1000, _CREATE, 1000),
    (_CREATE, 1000, _CREATE, 5000),
    (_CREATE, 1000, _APPEND, 5000),
    (_CREATE, 5000, _APPEND, 5000),
    (_APPEND, 5000, _APPEND, 5000),
    (_APPEND, 1000, _APPEND, 5000),
    (_APPEND, 1000, _CREATE, 5000),
)


@cache
def _spark_says() -> dict[int, Any]:
    rows = [(number, *row) for number, row in enumerate(_ASKED)]
    return answers_of(
        """SELECT number, batch_type <> topic_type OR latest <> IF(topic_type = 'LogAppendTime', now, latest)
           FROM {asked}""",
        asked=(rows, "number INT, batch_type STRING, latest BIGINT, topic_type STRING, now BIGINT"),
    )


def _case(number: int) -> AskedCase:
    asked = _ASKED[number]
    name = "a batch of {} with max timestamp {}, a topic of {}, the clock at {}".format(*asked)
    return _asked(name, *asked, lambda: _spark_says()[number])


def _drawn(draw: random.Random) -> AskedCase:
    types, times = (_CREATE, _APPEND), (0, 1, 1000, 5000, 1_700_000_000_000)
    return _asked("", draw.choice(types), draw.choice(times), draw.choice(types), draw.choice(times))


def _asked(
    name: str, batch_type: str, latest: int, topic_type: str, now: int, expected: Callable[[], Any] = lambda: None
) -> AskedCase:

    def asked(factory: Any) -> bool:
        append = " log_append_time" if batch_type == _APPEND else ""
        batch, kafka = first_batch(factory, Batch.parse(f"[1x1 ts={latest}{append}]").encode(0)), jvm_of(factory)
        java_name = "LOG_APPEND_TIME" if topic_type == _APPEND else "CREATE_TIME"
        to_write = now if topic_type == _APPEND else latest
        if kafka is None:
            from minikafka.record.format.timestamp_type import TimestampType

            before = batch.checksum
            batch.set_max_timestamp(TimestampType[java_name], to_write)
            return bool(batch.checksum != before)
        before = batch.checksum()
        batch.setMaxTimestamp(kafka.constant("org.apache.kafka.common.record.TimestampType", java_name), to_write)
        return bool(batch.checksum() != before)

    return AskedCase(name, (batch_type, latest, topic_type, now), expected, asked)


new_checksum = Exercise(
    "Exercise 2, a new CRC",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.needs_new_crc,
    drawn=_drawn,
    hints=[
        "The leader always writes base offset and leader epoch; the CRC does not cover them. What else may the "
        "leader write?",
        "The timestamp type is a bit of the attributes, and the max timestamp comes after the attributes. The CRC "
        "covers both.",
        "A topic of CreateTime keeps the max timestamp; one of LogAppendTime writes the clock. Did either field change?",
    ],
    beliefs=[
        Belief(
            lambda batch_type, latest, topic_type, now: True,
            "You compute a new CRC for each batch, because its offset changes. The CRC does not cover the offset.",
        ),
        Belief(
            lambda batch_type, latest, topic_type, now: False,
            "You never compute a new CRC. The CRC covers the timestamp type and the max timestamp.",
        ),
        Belief(
            lambda batch_type, latest, topic_type, now: topic_type == _APPEND,
            "You look at the topic's type only. A new CRC is needed only if a field changes.",
        ),
        Belief(
            lambda batch_type, latest, topic_type, now: batch_type != topic_type,
            "You look at the type only. A batch that already has the topic's type may still have another max "
            "timestamp.",
        ),
        Belief(
            lambda batch_type, latest, topic_type, now: topic_type == _APPEND and latest != now,
            "You look at the time only. The type is a bit of the attributes, and the CRC covers it as well.",
        ),
    ],
)
