"""What the attributes of a batch say."""

import random
from collections.abc import Callable
from functools import cache
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.records import solutions
from minikafka.lessons.records.exercises.sent_batches import first_batch

_ASKED = (0x00, 0x01, 0x0C, 0x10, 0x30, 0x31, 0x44, 0x42, 0x5B, 0x08)


@cache
def _spark_says() -> dict[int, Any]:
    return answers_of(
        """SELECT number, element_at(array('none', 'gzip', 'snappy', 'lz4', 'zstd'), bits % 8 + 1),
                  bits DIV 8 % 2 = 1, bits DIV 16 % 2 = 1, bits DIV 32 % 2 = 1, bits DIV 64 % 2 = 1
           FROM {asked}""",
        asked=(list(enumerate(_ASKED)), "number INT, bits INT"),
    )


def _case(number: int) -> AskedCase:
    bits = _ASKED[number]
    return _asked(f"attributes {bits:#04x}", bits, lambda: _spark_says()[number])


def _asked(name: str, bits: int, expected: Callable[[], Any] = lambda: None) -> AskedCase:
    def asked(factory: Any) -> tuple[Any, ...]:
        header = bytes(8) + (49).to_bytes(4, "big") + bytes(4) + b"\2" + bytes(4) + bits.to_bytes(2, "big") + bytes(38)
        batch, kafka = first_batch(factory, header), jvm_of(factory)
        if kafka is None:
            return (
                batch.compression_type.name.lower(), batch.timestamp_type.name == "LOG_APPEND_TIME",
                batch.is_transactional, batch.is_control_batch, batch.has_delete_horizon,
            )  # fmt: skip
        return (
            batch.compressionType().name().lower(), batch.timestampType().name() == "LOG_APPEND_TIME",
            batch.isTransactional(), batch.isControlBatch(), batch.deleteHorizonMs().isPresent(),
        )  # fmt: skip

    return AskedCase(name, (bits,), expected, asked)


def _read_as(*, codec=lambda bits: bits & 7, first=3, step=1):
    """A wrong answer: the codec or the flags are read from other bits."""

    def attributes(bits):
        flags = [bool(bits >> place & 1) for place in (first, first + step, first + 2 * step, first + 3 * step)]
        return (dict(enumerate(("none", "gzip", "snappy", "lz4", "zstd"))).get(codec(bits)), *flags)

    return attributes


def _control_without_transaction(bits):
    codec, append_time, _, control, horizon = solutions.attributes(bits)
    return codec, append_time, bits & 0x30 == 0x10, control, horizon


def _drawn(draw: random.Random) -> AskedCase:
    return _asked("", draw.randrange(5) | draw.randrange(1 << 4) << 3)


attribute_bits = Exercise(
    "Exercise 1, the attributes",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.attributes,
    drawn=_drawn,
    hints=[
        "The codec is a number of three bits: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
        "Each of the others has one bit: 3 LogAppendTime, 4 transactional, 5 control, 6 delete horizon.",
        "`bits & 7` is the codec; `bool(bits & 0x08)` is the first flag.",
    ],
    beliefs=[
        Belief(
            _read_as(codec=lambda bits: bits & 3),
            "You read two bits for the codec. It has three since there are more than four codecs: zstd is 4.",
        ),
        Belief(
            _read_as(first=4), "Your flags begin at bit 4. The codec has the bits 0 to 2, so the first flag is bit 3."
        ),
        Belief(
            _read_as(first=6, step=-1),
            "You read the flags from the highest down. LogAppendTime is the lowest of them, bit 3.",
        ),
        Belief(
            _control_without_transaction,
            "You treat *transactional* and *control* as alternatives. A transaction's marker is both.",
        ),
    ],
)
