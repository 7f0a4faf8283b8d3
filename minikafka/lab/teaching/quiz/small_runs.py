"""Logs, workloads and what becomes of files, for the questions of several lessons."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minikafka.lab.stage.damage import SMALL
from minikafka.lab.stage.readers import log_after
from minikafka.lab.stage.replication import Replication
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.witness import Workload

KINDS = {kind: f"the active segment's `.{kind}`" for kind in ("log", "index", "timeindex")}


def log_after_three() -> Any:
    """A log with three records."""
    log = fresh_log()
    log.append_as_leader(records(3), leader_epoch=0)
    return log


def effect_on_files(log: Any, action: Callable[[], object]) -> tuple[set[str], set[str]]:
    """The names of the log's files that have other bytes after `action` (a new length counts), and of those that are
    new.
    """
    before = digests(log)
    action()
    log.time.sleep(0)
    after = digests(log)
    return {name for name in before if after.get(name) != before[name]}, after.keys() - before.keys()


def digests(log: Any) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in Path(log.dir).iterdir()}


TRANSACTIONS = """append_as_leader [2x10]
append_as_leader [3x10 pid=7 epoch=0 seq=0 txn]
append_as_leader [1x10]
append_as_leader [2x10 pid=8 epoch=0 seq=0 txn]
maybe_increment_high_watermark leo
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]"""
REPLICATED = TRANSACTIONS + "\nmaybe_increment_high_watermark leo"


def after(text: str) -> Any:
    return log_after(Workload.parse(text))


def or_error(call: Any) -> str | int | None:
    try:
        return call()
    except Exception as error:  # many questions are about which exception comes
        return type(error).__name__


def two_segments() -> Any:
    log = fresh_log({**SMALL, "internal.segment.bytes": 200})
    for number in range(4):
        log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
    if [(segment.base_offset, segment.size) for segment in log.log_segments] != [(0, 190), (4, 190)]:
        raise AssertionError("the questions speak of other segments")
    return log


HOUR = 3_600_000


def alone() -> Replication:
    """Three brokers with a minimum of 2 and one record on all of them; then two die."""
    few = Replication(3, min_isr=2)
    few.append("a")
    few.fetch()
    few.fetch()
    few.crash(1)
    few.crash(2)
    return few
