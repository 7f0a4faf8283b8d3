"""Wrong answers to the predictions of *Stored and safe*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "keyless-records-after-cleaning": {
        3: "A cleaner keeps records by their keys. These have none, so it keeps none of them.",
        1: "Three records without a key are not three records of one key.",
    },
    "leader-recompresses-gzip": {
        True: "The leader compares the codec, not its level. The batch stays.",
    },
    "roll-an-hour-later": {
        True: "The records' timestamps count, not the clock: this one is as old as the segment's first batch.",
    },
    "time-index-entries": {
        4: "The time index takes only a timestamp that is later than its last entry.",
        5: "No entry is due with the first batch. Minutes 1 and 2 add none: they are before minute 3.",
        3: "Minute 2 is not after minute 3, which the index has already.",
    },
    "recovery-point-after-appends": {
        5: "Step 14 comes after the whole append, and flushes all six records.",
        7: "After the flush at 6 one record has come. The next flush waits for five.",
        0: "After the third append six records were not flushed, and five are enough.",
    },
    "recovery-points-differ-after": {
        4: "There both flush. They differ at the append that makes exactly 5 records.",
        3: "The sound log flushed one operation earlier, at the fifth record.",
        1: "Four records are too few for both.",
    },
    "recovery-point-contradicted-by": {
        2: "Spark has no rule for flushing and says nothing about it.",
    },
}
