"""What the quiz asks about the lesson *Damaged and missing files*."""

from pathlib import Path

from minikafka.lab.stage.damage import SMALL, another, load, remove, sizes
from minikafka.lab.stage.producers import Producer
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.teaching.quiz.question import FILES, Question
from minikafka.log.fetch_isolation import FetchIsolation


def made_anew_when_missing() -> set[str]:
    """What a load after a clean stop makes anew, with its contents, when it has been deleted."""
    log = fresh_log({**SMALL, "index.interval.bytes": 0})
    producer = Producer(log, 7, transactional=True)
    for _ in range(2):
        producer.send(2)
    producer.end("abort")
    log.roll()
    log.append_as_leader(records(1), leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)
    log.close()
    losses = {"index": ("000.index",), "timeindex": ("000.timeindex",), "txnindex": ("000.txnindex",)}
    losses["snapshot"] = tuple(sizes(log.dir, ".snapshot"))
    whole = _known(log.dir)
    return {kind for kind, names in losses.items() if _known(remove(another(log.dir), *names))[kind] == whole[kind]}


def _known(directory: Path) -> dict[str, object]:
    """What a log knows after a load that followed a clean stop, by the file in which it was written."""
    log = load(another(directory), {**SMALL, "index.interval.bytes": 0}, clean=True)
    log.update_high_watermark(log.log_end_offset)
    first = log.log_segments[0]
    entries = {
        kind: [tuple(index.entry(number)) for number in range(index.entries)]
        for kind, index in (("index", first.offset_index), ("timeindex", first.time_index))
    }
    aborted = log.read(0, 1_048_576, FetchIsolation.TXN_COMMITTED).aborted_transactions
    return {**entries, "txnindex": len(aborted), "snapshot": [*log.producer_state_manager.active_producers]}


QUESTIONS = (
    Question(
        FILES,
        "The index of aborted transactions",
        "A broker was stopped cleanly. Somebody deletes one file (or all files of one kind). Which loss does the next"
        " start repair, so that the log knows the same as before?",
        made_anew_when_missing,
        "After any stop a load notices a missing `.index` and recovers its segment. No start reports the other losses.",
        {
            "index": "an `.index`",
            "timeindex": "a `.timeindex`",
            "txnindex": "a `.txnindex`",
            "snapshot": "all `.snapshot` files",
        },
        card="alone it comes back empty … the load forgets the producers … yes, if the `.log` beside it"
        " is sound … `read_committed` consumers get the records of an aborted transaction",
        replies={
            "timeindex": "The load creates it, and it is empty.",
            "txnindex": "The log forgets its aborted transactions, and readers get their records.",
            "snapshot": "The load forgets the producers, as if the log never had any.",
        },
    ),
)
