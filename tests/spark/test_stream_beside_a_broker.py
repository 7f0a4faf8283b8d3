"""Streams in Spark follow a real broker that writes, rolls, deletes and compacts; they end badly and go on."""

import json
import pickle
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from minikafka.spark import register
from tests.spark.busy_broker import BusyBroker, Place

RECORDS_A_SECOND = 600
ROUNDS = 2
ROUND_S = 1.0


class Stream:
    """A stream from a log directory into a file for each micro-batch, and its checkpoint."""

    def __init__(self, spark, home: Path, log_dir: Path, **options: str):
        self._spark = spark
        self._log_dir = log_dir
        self._options = {"startingOffsets": "earliest", **options}
        self.checkpoint, self.out = home / "checkpoint", home / "out"
        self.out.mkdir(parents=True)

    def start(self, *, available_now: bool = False, failing_in: int | None = None, **options: str):
        """The running query; `failing_in`: the micro-batch of that number fails once, behind half of its work."""
        frame = self._spark.readStream.format("minikafka").options(**self._options | options).load(str(self._log_dir))
        writer = frame.writeStream.option("checkpointLocation", str(self.checkpoint))
        writer = writer.trigger(availableNow=True) if available_now else writer

        def write(batch, number: int) -> None:
            # A micro-batch that is run again replaces what it has written.
            rows = [row.asDict(recursive=True) for row in batch.collect()]
            (self.out / str(number)).write_bytes(pickle.dumps(rows))
            if number == failing_in:
                raise ConnectionError("the sink went away")

        return writer.foreachBatch(write).start()

    def position(self) -> dict[str, dict[str, int]]:
        """The offsets behind the last micro-batch that was completed."""
        numbers = [int(file.name) for file in (self.checkpoint / "commits").glob("[0-9]*")]
        if not numbers:
            return {}
        return json.loads((self.checkpoint / "offsets" / str(max(numbers))).read_text().splitlines()[-1])

    def batches(self) -> int:
        """How many micro-batches were begun."""
        return len(list((self.checkpoint / "offsets").glob("[0-9]*")))

    def read(self) -> tuple[list[tuple[Place, bytes, bytes]], list[tuple[str, int, str]]]:
        """The records that were read, and (topic, partition, what was told) of each damage."""
        records, damages = [], []
        for row in (row for file in self.out.iterdir() for row in pickle.loads(file.read_bytes())):
            if (told := row.get("_corrupt")) is not None:
                damages.append((row["topic"], row["partition"], told["exception"]))
            else:
                place = row["topic"], row["partition"], row["offset"]
                records.append((place, bytes(row["key"]), bytes(row["value"])))
        return records, damages


@pytest.mark.in_parts(2)
@pytest.mark.slow
def test_nothing_is_lost_or_doubled_beside_a_busy_broker(spark, tmp_path):
    register(spark)
    with BusyBroker(tmp_path / "broker", RECORDS_A_SECOND) as busy:
        log_dir = busy.broker.log_dir
        sound = Stream(spark, tmp_path / "sound", log_dir, subscribePattern="rolled|compacted|added")
        late = Stream(spark, tmp_path / "late", log_dir, subscribe="kept", mode="PERMISSIVE")
        time.sleep(1)
        live(busy, sound, late)
        busy.finish()
        time.sleep(1)  # until the broker has noted its high watermarks
        for stream in (sound, late):
            stream.start(available_now=True).awaitTermination()
        consumed = busy.consumed(["rolled", "compacted", "added", "kept"])
    demand_exactly_once(busy, sound, consumed)
    demand_read_or_told(busy, late, consumed)


def live(busy: BusyBroker, sound: Stream, late: Stream) -> None:
    """Streams begin, end in one way or another, and begin again."""
    for number in range(ROUNDS):
        query, other = sound.start(), late.start()
        time.sleep(ROUND_S)
        if number == 0:
            busy.add_topic("added")
            busy.add_partition("rolled")
        delete_what_was_read(busy, sound)
        time.sleep(ROUND_S)
        # Spark refuses a checkpoint of which it was stopped while it wrote the first offsets.
        until_begun(sound, late)
        query.stop()  # in the middle of a micro-batch
        other.stop()
        time.sleep(1)  # meanwhile the broker deletes what `late` has not read
        limited = sound.start(failing_in=sound.batches(), maxOffsetsPerTrigger="300")
        with pytest.raises(Exception, match="the sink went away"):
            limited.awaitTermination(60)
        sound.start(available_now=True).awaitTermination()
        late.start(available_now=True, maxOffsetsPerTrigger="200").awaitTermination()


def until_begun(*streams: Stream) -> None:
    deadline = time.monotonic() + 60
    while not all(stream.batches() for stream in streams):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def delete_what_was_read(busy: BusyBroker, stream: Stream) -> None:
    for partition, offset in stream.position().get("rolled", {}).items():
        busy.delete_before("rolled", int(partition), offset)


def demand_exactly_once(busy: BusyBroker, stream: Stream, consumed: dict) -> None:
    records, damages = stream.read()
    assert damages == []
    read = {place: (key, value) for place, key, value in records}
    assert len(read) == len(records), [each for each, n in Counter(place for place, *_ in records).items() if n > 1][:5]
    written = {place: content for place, content in busy.acknowledged.items() if place[0] != "kept"}
    assert read.items() <= written.items()
    assert {place for place in written if place[0] != "compacted"} <= read.keys()
    # Of the compacted topic everything that is left was read, and more.
    left = {place: content for place, content in consumed.items() if place[0] != "kept"}
    assert left.items() <= read.items()
    assert 0 < sum(place[0] == "compacted" for place in left) < sum(place[0] == "compacted" for place in written)
    assert {place[:2] for place in read} == {("rolled", 0), ("rolled", 1), ("compacted", 0), ("added", 0)}


def demand_read_or_told(busy: BusyBroker, stream: Stream, consumed: dict) -> None:
    """Of the topic whose records go quickly, each one was read once or is in a gap that was told."""
    records, damages = stream.read()
    read = {place: (key, value) for place, key, value in records}
    assert len(read) == len(records)
    gaps = set()
    for topic, partition, told in damages:
        asked, until, start, end = map(int, re.findall(r"\d+", told))
        assert (topic, partition) == ("kept", 0) and until <= end
        gaps |= {(topic, partition, offset) for offset in range(asked, min(start, until))}
    written = {place: content for place, content in busy.acknowledged.items() if place[0] == "kept"}
    assert len(read) > 100 and len(gaps) > 100
    assert read.items() <= written.items() and not read.keys() & gaps
    begun = min(read.keys() | gaps)  # where the log began when the stream did
    assert read.keys() | gaps == {place for place in written if place >= begun}
    assert {place for place in consumed if place[0] == "kept"} <= read.keys()
