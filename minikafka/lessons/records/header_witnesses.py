"""The headers of all batches of a workload: as minikafka and Apache Kafka wrote them, and as Spark works them out.

Spark is given the lines of the workload as two tables: the appends, and for each record its timestamp and the sizes of
key and value. It knows the form of a batch by one query.
"""

from pathlib import Path
from typing import Any

from minikafka.lab.stage.background import told_while_starting
from minikafka.lab.stage.recorded_answers import three_answers
from minikafka.lab.stage.workbench import kafka_witness, scratch
from minikafka.record.files.file_records import FileRecords
from minikafka.spark import session
from minikafka.witness import Workload, minikafka_log, run
from minikafka.witness.log.dataframes import local_frame
from minikafka.witness.observation import Observations

_FIELDS = (
    "base_offset", "length", "leader_epoch", "attributes", "last_offset_delta", "base_timestamp", "max_timestamp",
    "records",
)  # fmt: skip


def _bytes_of(number: str) -> str:
    """How many bytes the varint of the SQL expression `number` has: seven bits a byte, after zigzag."""
    return f"CAST(ceil(length(bin(IF({number} >= 0, 2 * ({number}), -2 * ({number}) - 1))) / 7) AS INT)"


_HEADERS = f"""
WITH deltas AS (
    SELECT *, timestamp - first(timestamp) OVER (PARTITION BY op ORDER BY number) AS delta FROM {{records}}),
bodies AS (
    SELECT *, 1 + {_bytes_of("delta")} + {_bytes_of("number")}
              + {_bytes_of("coalesce(key_size, -1)")} + coalesce(key_size, 0)
              + {_bytes_of("coalesce(value_size, -1)")} + coalesce(value_size, 0) + 1 AS body
    FROM deltas),
batches AS (
    SELECT op, count(*) AS records, 49 + sum({_bytes_of("body")} + body) AS length,
           min_by(timestamp, number) AS base_timestamp, max(timestamp) AS latest
    FROM bodies GROUP BY op)
SELECT op, coalesce(sum(records) OVER (ORDER BY op ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0),
       length, leader_epoch, IF(append_time, 8, 0), records - 1, base_timestamp, IF(append_time, now, latest), records
FROM batches JOIN {{appends}} USING (op) ORDER BY op
"""


@told_while_starting()
def three_headers(workload: Workload) -> tuple[Observations, Observations, Observations | None]:
    """What stands in the header of the batch that each append wrote, for `agree`: by minikafka, Spark and Kafka.

    The workload has appends of one uncompressed batch without headers, all accepted.
    """
    return three_answers(
        "the headers of batches",
        workload,
        lambda: _written(workload, minikafka_log, "minikafka"),
        lambda: _worked_out(workload),
        lambda: _by_kafka(workload),
    )


def _by_kafka(workload: Workload) -> Observations | None:
    kafka = kafka_witness()
    return None if kafka is None else _written(workload, kafka, "Apache Kafka")


def _written(workload: Workload, factory: Any, name: str) -> Observations:
    directory = scratch()
    run(workload, factory, directory)
    batches = [header for file in sorted(Path(directory).glob("*.log")) for header in _headers_in(file)]
    return _table(name, workload, dict(zip([op for op, _ in workload.appends], batches, strict=True)))


def _headers_in(file: Path) -> list[tuple[int, ...]]:
    records = FileRecords.open(file)
    try:
        return [
            (
                batch.base_offset, batch.size_in_bytes - 12, batch.partition_leader_epoch, batch.attributes,
                batch.last_offset_delta, batch.base_timestamp, batch.max_timestamp, batch.count,
            )
            for batch in (found.load_full_batch() for found in records.batches())
        ]  # fmt: skip
    finally:
        records.close_handlers()


def _worked_out(workload: Workload) -> Observations:
    clock, append_time = workload.clock(), workload.config.get("message.timestamp.type") == "LogAppendTime"
    appends = [(op, append.leader_epoch, append_time, clock[op]) for op, append in workload.appends]
    records = [
        (op, number, timestamp, None if (key := batch.key(number)) is None else len(key), batch.value_sizes[number])
        for op, append in workload.appends
        for batch in append.batches
        for number, timestamp in enumerate(batch.timestamps(clock[op]))
    ]
    tables = {
        "appends": (appends, "op INT, leader_epoch INT, append_time BOOLEAN, now BIGINT"),
        "records": (records, "op INT, number INT, timestamp BIGINT, key_size INT, value_size INT"),
    }
    frames = {name: local_frame(session(), rows, schema) for name, (rows, schema) in tables.items()}
    return _table("Spark", workload, {row[0]: tuple(row[1:]) for row in session().sql(_HEADERS, **frames).collect()})


def _table(witness: str, workload: Workload, headers: dict[int, tuple[int, ...]]) -> Observations:
    rows = [dict(zip(_FIELDS, headers[op], strict=True)) if op in headers else {} for op in range(len(workload))]
    return Observations(witness, workload, tuple(rows))
