"""Wrong answers to the predictions of *Stored and safe*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "keyless-records-after-cleaning": {
        3: "A record without a key has nothing by which a cleaner could keep it.",
        1: "No key is no key that the three have in common.",
    },
    "leader-recompresses-gzip": {
        True: "The leader compares the codec, not its level. The batch stays.",
    },
    "roll-an-hour-later": {
        True: "The records' timestamps count, not the clock: this one is as old as the segment's first batch.",
    },
    "time-index-entries": {
        4: "The time index takes only a timestamp that is later than its last entry.",
        5: "The first batch is due for no entry, and earlier timestamps add none.",
        3: "Minute 2 is not after minute 3, which the index has already.",
    },
    "recovery-point-after-appends": {
        5: "A flush comes after a whole append, and takes all six records.",
        7: "After the flush at 6 one record has come. The next flush waits for five.",
        0: "After the third append six records were not flushed, and five are enough.",
    },
    "recovery-points-differ-after": {
        4: "There both flush. The append that makes exactly 5 records tells them apart.",
        3: "The sound log flushed one operation before, at the fifth record.",
        1: "Four records are too few for both.",
    },
    "recovery-point-contradicted-by": {
        2: "Spark has no rule for flushing and says nothing about it.",
    },
}
