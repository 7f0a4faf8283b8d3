"""Wrong answers to the predictions of *Crash and recovery*, by id, and what one must believe to give such an answer."""

_WHOLE_BATCHES = "The log ends before the first batch (they end at 95, 190, 285) that is not whole."

BELIEFS: dict[str, dict[object, str]] = {
    "record-9-is-read": {
        True: "A reader takes its bytes as the rest of the torn batch before them.",
    },
    "recovery-point-after-roll": {
        0: "The task has run: what lies below the new segment is on the device.",
        6: "The task flushes only what lies below the new segment.",
        3: "3 is the last offset that is flushed. The recovery point is the first that is not.",
    },
    "segments-scanned": {
        3: "The segment that begins at 15 holds offset 24. It is scanned from its first byte.",
        5: "Segment 0 ends below the recovery point.",
        1: "Anything above the recovery point may be torn.",
    },
    "segments-after-torn-batch": {
        2: "The roll made the file before the write. A cut takes its bytes, not the file.",
        1: "The segments before the bad batch are sound and stay.",
    },
    "log-end-after-cut": {
        6: _WHOLE_BATCHES,
        8: _WHOLE_BATCHES,
        10: _WHOLE_BATCHES,
        12: _WHOLE_BATCHES,
    },
    "recovery-differs-after": {
        5: "The index is already wrong, but zeros are not compared, and the last batch tells the log end.",
        7: "They differ one append sooner.",
    },
    "recovered-segments-contradicted-by": {
        1: "A kill without damage does not change when a log rolls, and Spark knows that rule.",
    },
}
