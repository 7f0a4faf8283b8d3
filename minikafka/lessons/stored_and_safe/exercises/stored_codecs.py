"""The codec in which a leader stores a batch, in Spark."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame
from minikafka.lessons.stored_and_safe import solutions
from minikafka.witness.log.batch import CODECS
from minikafka.witness.log.dataframes import batches_frame
from minikafka.witness.log.workload import START_MS, Workload
from minikafka.witness.observation import Observations

_SCHEMA = "t BIGINT, codec STRING, marker BOOLEAN"


def _stored(
    topic: str, sent: Sequence[str] = ("none", "gzip", "lz4", "commit"), draw: random.Random | None = None
) -> WitnessedCase:
    """What is `sent`, a batch of a codec or a marker each, to a topic with this `compression.type`.

    `draw` brings the rows of a drawn case into any order.
    """
    lines, sequence = [f"config compression.type={topic}"], 0
    for what in sent:
        if what in ("commit", "abort"):
            lines.append(f"append_as_leader origin=coordinator transaction_version=0 [{what} pid=7 epoch=0]")
        else:
            lines.append(f"append_as_leader [40x50 pid=7 epoch=0 seq={sequence} txn codec={what}]")
            sequence += 40
    workload = Workload.parse("\n".join(lines))
    rows = [(t, append.batches[0].codec, bool(append.batches[0].marker)) for t, append in workload.appends]

    def answer(observations: Observations) -> list[tuple[int, str]]:
        """By the bytes that the log has grown by: which codec makes the batch about as large?"""
        sizes = [sum(size for _, size in segments) for segments in observations.column("segments")]
        grown = [after - before for before, after in zip([0, *sizes], sizes, strict=False)]
        return [(t, _codec_of(append.batches[0], grown[t])) for t, append in workload.appends]

    name = "" if draw else f"compression.type={topic}"
    return WitnessedCase(name, (frame(rows, _SCHEMA, draw), topic), workload, answer)


def _codec_of(batch: Any, size: int) -> str:
    if batch.marker:
        return "none" if size == batch.size_in_bytes(START_MS) else "another one"
    return min(CODECS, key=lambda codec: abs(batch.with_(codec=codec).size_in_bytes(START_MS) - size))


def _judged_by_tables(case: WitnessedCase) -> Any:
    """What Spark finds in a table of the codecs that a topic turns into another one."""
    topic = case.arguments[1]
    into = "none" if topic == "uncompressed" else topic
    turned = frame([(codec, into) for codec in CODECS if topic != "producer"], "codec STRING, into STRING")
    batches = batches_frame(case.workload)
    return batches.sparkSession.sql(
        """SELECT op AS t, IF(marker <> '', codec, coalesce(into, codec)) AS codec
           FROM {batches} LEFT JOIN {turned} USING (codec) ORDER BY op""",
        batches=batches,
        turned=turned,
    )


def _codecs(choose: Callable[[str, str, bool], str]) -> Callable[..., list[tuple[int, str]]]:
    """Answers by `choose(codec that was sent, compression.type, is it a marker)`."""
    return lambda batches, topic: [
        (row.t, choose(row.codec, topic, row.marker)) for row in batches.orderBy("t").collect()
    ]


def _right(codec: str, topic: str, marker: bool) -> str:
    if marker or topic == "producer":
        return codec
    return "none" if topic == "uncompressed" else topic


def _drawn(draw: random.Random) -> WitnessedCase:
    """Half of the topics have the codec snappy or zstd, which no case on the page has."""
    topic = draw.choice(("snappy", "zstd", "snappy", "zstd", "producer", "uncompressed", "gzip", "lz4"))
    return _stored(topic, [draw.choice((*CODECS, "commit", "abort")) for _ in range(28)], draw)


stored_codecs = Exercise(
    "Exercise 1, the codec of the stored batch",
    lambda: [_stored("producer"), _stored("uncompressed"), _stored("gzip"), _stored("lz4")],
    _judged_by_tables,
    solutions.codecs_stored,
    drawn=_drawn,
    draws=6,
    hints=[
        "There are three kinds of topic. `producer` keeps the codec, `uncompressed` decompresses, and the name of a "
        "codec compresses with that codec.",
        "A marker arrives uncompressed and is left as it is, whatever the topic says.",
    ],
    beliefs=[
        Belief(
            _codecs(lambda codec, topic, marker: codec),
            "You leave every batch as it arrived. That is compression.type=producer; any other value is the topic's "
            "own codec.",
        ),
        Belief(
            _codecs(lambda codec, topic, marker: _right(codec, topic, False)),
            "You compress the marker. A control batch that arrives uncompressed stays so.",
        ),
        Belief(
            _codecs(lambda codec, topic, marker: codec if codec == "none" else _right(codec, topic, marker)),
            "You do not change uncompressed batches. A topic with its own codec compresses them, too.",
        ),
        Belief(
            _codecs(lambda codec, topic, marker: _right(codec, topic, marker) if codec == "none" else codec),
            "You do not change compressed batches. The topic's codec counts: a batch with another codec is "
            "decompressed and compressed again.",
        ),
        Belief(
            _codecs(lambda codec, topic, marker: "uncompressed" if _right(codec, topic, marker) != codec
                    and topic == "uncompressed" else _right(codec, topic, marker)),
            "\"uncompressed\" is a value of the topic's setting. The codec of such a batch is \"none\".",
        ),
    ],
    normal=as_rows,
)  # fmt: skip
