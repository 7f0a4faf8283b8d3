"""Where the offset map looks for a key."""

import hashlib
import random
from collections.abc import Callable
from functools import cache
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, answers_of, call_private, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.compaction import solutions
from minikafka.log.cleaner.offset_map_kernel import slot_of

_ENTRY = 24  # bytes: a digest of 16, an offset of 8
_ASKED = (  # digest (a key's, or in hex), number of the try, slots
    ("a", 0, 8),
    ("e", 1, 8),
    ("g", 4, 8),
    ("colour", 2, 1000),
    ("theme", 0, 5_592_405),
    ("fig", 12, 97),
    ("fig", 15, 97),
    ("80000000000000000000000000000000", 0, 7),
    ("000000000000000000000000ffffffff", 20, 11),
)


def _digest(word: str) -> bytes:
    return bytes.fromhex(word) if len(word) == 32 else hashlib.md5(word.encode(), usedforsecurity=False).digest()


@cache
def _spark_says() -> dict[int, int]:
    rows = [(n, _digest(word).hex(), attempt, slots) for n, (word, attempt, slots) in enumerate(_ASKED)]
    return answers_of(
        """SELECT number, CAST(IF(probe = -2147483648, 0, abs(probe)) % slots AS BIGINT)
           FROM (SELECT number, slots,
                        pmod(CAST(conv(substring(digest, 2 * least(attempt, 12) + 1, 8), 16, 10) AS BIGINT)
                             + greatest(attempt - 12, 0) + 2147483648, 4294967296) - 2147483648 AS probe
                 FROM {asked})""",
        asked=(rows, "number INT, digest STRING, attempt INT, slots INT"),
    )


def _case(number: int) -> AskedCase:
    word, attempt, slots = _ASKED[number]
    what = f"digest {word}" if len(word) == 32 else f"key {word}"
    name = f"{what}, try {attempt}, {slots} slots"
    return _asked(name, _digest(word), attempt, slots, lambda: _spark_says()[number])


def _asked(name: str, digest: bytes, attempt: int, slots: int, expected: Callable[[], Any] = lambda: None) -> AskedCase:
    def asked(factory: Any) -> int:
        kafka = jvm_of(factory)
        if kafka is None:
            high, low = (int.from_bytes(half, "big", signed=True) for half in (digest[:8], digest[8:]))
            return slot_of(high, low, attempt, slots)
        offset_map = kafka.log_class("SkimpyOffsetMap")(slots * _ENTRY)
        position = call_private(kafka, offset_map.getClass(), offset_map, "positionOf", digest, attempt)
        return position // _ENTRY

    return AskedCase(name, (digest, attempt, slots), expected, asked)


def _at(*, where=lambda attempt: min(attempt, 12), more=lambda attempt: max(attempt - 12, 0), signed=True, order="big"):
    """A wrong answer that reads another integer of the digest, or adds another number to it."""

    def slot_of_(digest, attempt, slots):
        begin = where(attempt)
        probe = int.from_bytes(digest[begin : begin + 4], order, signed=signed) + more(attempt)
        return (0 if probe == -(2**31) else abs(probe)) % slots

    return slot_of_


def _python_remainder(digest, attempt, slots):
    begin = min(attempt, 12)
    probe = int.from_bytes(digest[begin : begin + 4], "big", signed=True) + max(attempt - 12, 0)
    return probe % slots


def _smallest_number_too(digest, attempt, slots):
    begin = min(attempt, 12)
    probe = int.from_bytes(digest[begin : begin + 4], "big", signed=True) + max(attempt - 12, 0)
    return abs(probe) % slots


def _drawn(draw: random.Random) -> AskedCase:
    digest = draw.randbytes(16)
    if draw.random() < 0.2:
        digest = digest[:4] + bytes.fromhex(draw.choice(("80000000", "ffffffff", "00000000"))) * 3
    return _asked("", digest, draw.randint(0, 20), draw.choice((1, 7, 8, 97, 1000)))


map_position = Exercise(
    "Exercise 1, where the map looks",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.slot_of,
    drawn=_drawn,
    hints=[
        "The number of the try is the position of the first of the four bytes in the digest: one byte further at "
        "each try.",
        "The digest has 16 bytes, so the last four begin at byte 12. Later tries read those again and add 1, 2, 3 …",
        "`int.from_bytes(four, 'big', signed=True)`; its absolute value (0 for −2³¹, which has none in 32 bits) modulo"
        " the slots.",
    ],
    beliefs=[
        Belief(
            _at(where=lambda attempt: 0, more=lambda attempt: attempt),
            "You go on to the next slot at once. The map does this only after try 12, at the end of the digest. "
            "Before, each try reads four bytes that begin one byte further on.",
        ),
        Belief(
            _at(where=lambda attempt: min(4 * attempt, 12), more=lambda attempt: max(attempt - 3, 0)),
            "You read the digest in pieces of four bytes. The pieces overlap: each try begins one byte further on.",
        ),
        Belief(
            _at(signed=False),
            "You read four bytes without a sign. Java's int has one; the map takes the absolute value.",
        ),
        Belief(
            _python_remainder,
            "You compute a negative number modulo the slots. The map takes the absolute value first.",
        ),
        Belief(
            _smallest_number_too,
            "Only one case is wrong: −2³¹ has no absolute value in 32 bits. Kafka's `Utils.abs` says 0 for it.",
        ),
        Belief(
            _at(order="little"),
            "You read the bytes in little-endian order. `ByteUtils.readIntBE` reads them in big-endian order.",
        ),
        Belief(
            _at(more=lambda attempt: 0),
            "From try 13 on you always look at the same slot. Add 1, 2, 3 … from there on, so that the tries reach "
            "the next slots.",
        ),
    ],
)
