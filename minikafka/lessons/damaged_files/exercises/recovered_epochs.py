"""The leader epochs that recovery finds, in Spark."""

import random
from dataclasses import replace
from pathlib import Path

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lab.exercises.wrecked import WreckedCase, judged_by_spark, sql
from minikafka.lab.stage.damage import kill, named, remove
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lessons.damaged_files import solutions


def _epochs(epochs: tuple[int, ...], draw: random.Random | None = None) -> WreckedCase:
    """One batch of two records for each of `epochs`; the checkpoint of the epochs is lost. `draw` brings the rows of a drawn case into any order."""

    def wreck() -> Path:
        log = fresh_log()
        for number in range(len(epochs)):
            log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
        bytes_of_a_batch = log.size // len(epochs)
        directory = remove(kill(log), "leader-epoch-checkpoint")
        with open(named(directory, ".log"), "r+b") as file:  # the CRC does not cover the epoch
            for number, epoch in enumerate(epochs):
                file.seek(number * bytes_of_a_batch + 12)
                file.write(epoch.to_bytes(4, "big", signed=True))
        return directory

    rows = [(2 * n, 2 * n + 1, epoch) for n, epoch in enumerate(epochs)]
    table = frame(rows, "first BIGINT, last BIGINT, epoch BIGINT", draw)

    def expected() -> list[tuple[int, int]]:
        return sql(
            """SELECT b.epoch, min(b.first) FROM {batches} b
               LEFT ANTI JOIN {batches} earlier ON earlier.first < b.first AND earlier.epoch >= b.epoch
               WHERE b.epoch >= 0 GROUP BY b.epoch ORDER BY b.epoch""",
            batches=table,
        )

    def answer(state: tuple) -> list[tuple[int, int]]:
        return [tuple(entry) for entry in state.epochs]

    return WreckedCase(
        f"batches of epochs {', '.join(map(str, epochs))}", (table,), expected, wreck, answer, settings={}
    )


def _entries(choose):
    return lambda batches: choose([tuple(row) for row in batches.orderBy("first").collect()])


def _changes(rows):
    return [
        (epoch, first)
        for (first, _, epoch), before in zip(rows, [None, *[e for *_, e in rows]], strict=False)
        if epoch != before
    ]


def _rises(rows):
    with_epoch = [(first, epoch) for first, _, epoch in rows if epoch >= 0]
    befores = [-1, *[epoch for _, epoch in with_epoch]]
    return [(epoch, first) for (first, epoch), before in zip(with_epoch, befores, strict=False) if epoch > before]


def _firsts(rows):
    found = {}
    for first, _, epoch in rows:
        found.setdefault(epoch, first)
    return list(found.items())


def _forgets_at_none(rows):
    entries, latest = [], -1
    for first, _, epoch in rows:
        if epoch > latest:
            entries.append((epoch, first))
        latest = max(latest, epoch) if epoch >= 0 else -1
    return entries


def _rising(rows, place):
    entries, latest = [], -1
    for row in rows:
        if row[2] > latest:
            latest = row[2]
            entries.append((latest, row[place]))
    return entries


def _drawn(draw: random.Random) -> WreckedCase:
    """Epochs that rise slowly; many batches have none, or an earlier one."""
    epochs, latest = [], draw.choice((0, 0, 8))
    for _ in range(30):
        latest += draw.choice((*12 * [0], 1, 1_000))
        epochs.append(draw.choice((latest, latest, -1, *4 * [max(0, latest - draw.randint(1, 4))])))
    return replace(_epochs(tuple(epochs), draw), name="")


epoch_entries = Exercise(
    "Exercise 1, the epochs that recovery finds",
    lambda: [
        _epochs((0, 0, 1, 1, 4)),
        _epochs((2, 3, 1, 3, 5)),
        _epochs((-1, -1, 7, -1, 8)),
        _epochs((7, -1, 5, 5, 8)),
        _epochs((6, 6, 6, 6, 6)),
    ],
    judged_by_spark,
    solutions.epochs,
    drawn=_drawn,
    draws=6,
    hints=[
        "An entry has the offset at which an epoch begins. Which batches begin an epoch?",
        (
            "A batch begins an epoch if its epoch is greater than all epochs before it: use a window that ends one "
            "row before."
        ),
        "Batches without an epoch have −1, and never make an entry: coalesce(…, -1).",
    ],
    beliefs=[
        Belief(
            _entries(_changes),
            "You make an entry at each change. Epochs in the cache only rise: a batch with a lower epoch, or with "
            "−1, makes no entry.",
        ),
        Belief(
            _entries(_rises),
            "You compare only with the batch before. A batch makes an entry only if its epoch is greater than all "
            "epochs before it.",
        ),
        Belief(
            _entries(_forgets_at_none),
            "After a batch without an epoch you forget the earlier ones. They still count: only a greater epoch "
            "makes an entry.",
        ),
        Belief(
            _entries(lambda rows: _rising(rows, 1)),
            "You use the last offset of an epoch's first batch. An entry has the first offset that was written in "
            "the epoch.",
        ),
        Belief(
            _entries(lambda rows: [(epoch, first) for first, _, epoch in rows if epoch >= 0]),
            "You make an entry for each batch. There is only one entry for each epoch.",
        ),
        Belief(
            _entries(lambda rows: [row for row in _firsts(rows) if row[0] >= 0]),
            "You make an entry at the first batch of each epoch. An epoch that is lower than an earlier one makes no "
            "entry: the cache only rises.",
        ),
        Belief(
            _entries(lambda rows: _firsts(rows)),
            "You make an entry at the first batch of each epoch, also for −1 and lower ones. Only an epoch greater "
            "than all before it makes an entry.",
        ),
    ],
    normal=as_rows,
)
