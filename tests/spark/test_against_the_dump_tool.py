"""The tables say of sound directories what Kafka's dump tool prints of them, line by line."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from minikafka.record.format.timestamp_type import TimestampType
from tests.slow.fuzz.origins import DRAWN, Origins
from tests.spark.attack import numbered_rows
from tests.tools.kafkas_cleaning import KafkasCleaning
from tests.tools.kafkas_dump import KafkasDump

NAMES = (
    "mixed",
    "orders",
    "killed",
    "old",
    "compacted",
    *(f"drawn-{n}" for n in range(0, DRAWN, 2) if n not in (12, 16, 22)),
)
"""Not those where a follower has accepted batches that do not ascend, which no leader sends: the source tells them."""
TIMES = {str(each): each.id for each in TimestampType}
UNKNOWN_TO_OLD_FORMATS = dict.fromkeys(
    ("baseSequence", "producerId", "producerEpoch", "partitionLeaderEpoch"), "-1"
) | dict.fromkeys(("isTransactional", "isControl"), "false")
FIELD = re.compile(r"(\w+): (\[.*?\]|\S+)")


@pytest.fixture(scope="module")
def origins(tmp_path_factory) -> Origins:
    return Origins(tmp_path_factory.mktemp("origins"))


@pytest.fixture(scope="module")
def dump(kafka):
    """`dump(files, *options)`: what the dump tool says of each line of these files, as (file, {name: text})."""
    run = KafkasDump(kafka)

    def dump(files: list[Path], *options: str) -> Iterator[tuple[str, dict[str, str]]]:
        for file in files:
            if file.suffix in (".index", ".timeindex") and not any(file.read_bytes()):
                continue  # the tool prints the first entry, also where there is none yet
            printed = run("--files", str(file), *options)
            # It stumbles over the zeros at the end of a preallocated file, and over an empty one.
            assert not printed.failed or not any(file.with_suffix(".log").read_bytes()[-20:])
            for line in printed.stdout.decode("utf-8", "replace").split("\n"):
                if re.match(r"(\| )?(baseOffset|offset|timestamp|version|producerId): ", line):
                    yield str(file), dict(FIELD.findall(line)) | {"record": line[:1] == "|"}

    return dump


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_directory_of_every_kind(origins, dump, tmp_path, name):
    origin = origins[name]
    # Without the log start offset, below which the dump tool sees batches, too.
    demand_the_same(Path(shutil.copytree(origin.log_dir / origin.partition, tmp_path / origin.partition)), dump)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixed", "old", "compacted", "drawn-4"])
def test_a_directory_that_kafkas_cleaner_has_cleaned(origins, dump, kafka, tmp_path, name):
    origin = origins[name]
    directory = Path(shutil.copytree(origin.log_dir / origin.partition, tmp_path / origin.partition))
    known = {"last_shutdown_clean": True, "recovery_point": 0, "log_start_offset": 0}
    cleaned = KafkasCleaning(kafka)(directory, origin.config, origin.now_ms, known, map_memory=1 << 16)
    assert cleaned["messages_written"] < cleaned["messages_read"]
    demand_the_same(directory, dump)


def demand_the_same(directory: Path, dump) -> None:
    logs, indexes, time_indexes, aborted, snapshots = (
        sorted(directory.glob(f"*{suffix}")) for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    )
    lines = list(dump(logs, "--deep-iteration"))
    batches = [(log, line) for log, line in lines if not line["record"]]
    assert batches_of(directory) == [batch_line(log, line) for log, line in batches]
    assert records_of(directory) == [record_line(line) for line in data_records(lines)]
    assert told(directory, "index", "segment", "offset", "position") == [
        (file.removesuffix(".index") + ".log", int(line["offset"]), int(line["position"]))
        for file, line in dump(indexes)
    ]
    # Where a log ends in zeros, the tool may stumble before it prints the time index.
    shown = [file for file in time_indexes if any(file.with_suffix(".log").read_bytes()[-20:])]
    logs_shown = {str(file.with_suffix(".log")) for file in shown}
    entries = told(directory, "timeindex", "segment", "timestamp", "offset")
    assert [entry for entry in entries if entry[0] in logs_shown] == [
        (file.removesuffix(".timeindex") + ".log", int(line["timestamp"]) * 1000, int(line["offset"]))
        for file, line in dump(shown)
    ]
    names = ("producerId", "firstOffset", "lastOffset", "lastStableOffset")
    assert told(directory, "transactions", *names) == [
        tuple(int(line[name]) for name in names) for _, line in dump(aborted)
    ]
    names = ("snapshotOffset", "producerId", "producerEpoch", "coordinatorEpoch", "lastTimestamp",
             "openTransactionFirstOffset", "lastSequence", "lastOffset")  # fmt: skip
    assert told(directory, "producers", *names) == [producer_line(file, line) for file, line in dump(snapshots)]


def told(directory: Path, table: str, *names: str) -> list[tuple]:
    return [tuple(row[name] for name in names) for row in numbered_rows(directory, table=table, bounds="log_end")]


def batches_of(directory: Path) -> list[tuple]:
    names = (
        "segment position size magic baseOffset lastOffset records baseSequence producerId producerEpoch leaderEpoch "
        "transactional control timestampType maxTimestamp codec"
    )
    found = told(directory, "batches", *names.split())
    return [(*row[:4], *(row[4:7] if row[3] == 2 else (None, row[5], None)), *row[7:]) for row in found]


def batch_line(log: str, line: dict[str, str]) -> tuple:
    is_old = line["magic"] != "2"  # an old header knows neither its first offset nor how many records it has
    (kind,) = TIMES.keys() & line.keys()
    line = UNKNOWN_TO_OLD_FORMATS | ({"lastOffset": line["offset"]} if is_old else {}) | line
    return (
        log, int(line["position"]), int(line["size"]), int(line["magic"]),
        None if is_old else int(line["baseOffset"]), int(line["lastOffset"]), None if is_old else int(line["count"]),
        int(line["baseSequence"]), int(line["producerId"]), int(line["producerEpoch"]),
        int(line["partitionLeaderEpoch"]), line["isTransactional"] == "true", line["isControl"] == "true",
        TIMES[kind], int(line[kind]) * 1000, line["compresscodec"],
    )  # fmt: skip


def data_records(lines: list[tuple[str, dict[str, str]]]) -> Iterator[dict[str, str]]:
    """The lines of records, but for those of control batches, each with the fields of its batch."""
    batch: dict[str, str] = {}
    for _, line in lines:
        if not line["record"]:
            batch = UNKNOWN_TO_OLD_FORMATS | line
        elif batch["isControl"] == "false":
            # A record of an old format has the timestamp type of its batch, and may have another timestamp.
            yield {name: text for name, text in batch.items() if name not in TIMES} | line


def records_of(directory: Path) -> list[tuple]:
    return [
        (
            row["offset"],
            row["timestampType"],
            row["timestamp"],
            size(row["key"]),
            size(row["value"]),
            row["sequence"],
            [header["key"] for header in row["headers"] or ()],
            row["producerId"],
            row["producerEpoch"],
            row["leaderEpoch"],
            row["transactional"],
            row["codec"],
            row["position"],
        )
        for row in numbered_rows(directory, bounds="log_end", includeHeaders="true", includeBatches="true")
    ]


def size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


def record_line(line: dict[str, str]) -> tuple:
    (kind,) = TIMES.keys() & line.keys()
    keys = line.get("headerKeys", "[]")[1:-1]
    return (
        int(line["offset"]), TIMES[kind], int(line[kind]) * 1000, int(line["keySize"]), int(line["valueSize"]),
        int(line.get("sequence", -1)), keys.split(",") if keys else [], int(line["producerId"]),
        int(line["producerEpoch"]), int(line["partitionLeaderEpoch"]), line["isTransactional"] == "true",
        line["compresscodec"], int(line["position"]),
    )  # fmt: skip


def producer_line(file: str, line: dict[str, str]) -> tuple:
    opened = re.fullmatch(r"OptionalLong\[(-?\d+)\]", line["currentTxnFirstOffset"])
    return (
        int(Path(file).stem), int(line["producerId"]), int(line["producerEpoch"]), int(line["coordinatorEpoch"]),
        int(line["lastTimestamp"]) * 1000, opened and int(opened[1]), int(line.get("lastSequence", -1)),
        int(line.get("lastOffset", -1)),
    )  # fmt: skip
