"""Wrong answers to the predictions of *Crash and recovery*, by id, and what one must believe to give such an answer."""

_WHOLE_BATCHES = (
    "The batches end at bytes 95, 190 and 285. Those that end at or below BYTE are whole and stay; the log ends before"
    " the first one that is not."
)

BELIEFS: dict[str, dict[object, str]] = {
    "record-9-is-read": {
        True: "It was written behind a batch that has no end: the reader takes its bytes for the rest of that batch.",
    },
    "recovery-point-after-roll": {
        0: "The roll asked for a flush, and the task has run: what lies below the new segment is on the device.",
        6: "The task flushes what lies below the new segment. The two records in it were not asked for.",
        3: "3 is the last offset of the old segment. The recovery point is the first one that is not flushed.",
    },
    "segments-scanned": {
        3: "The segment that begins at 15 holds offset 24. It is scanned from its first byte.",
        5: "Segment 0 ends at 15, below the recovery point: it is known to be on the device.",
        1: (
            "The active segment only? Anything above the recovery point may be torn: the device writes in the order it"
            " likes."
        ),
    },
    "segments-after-torn-batch": {
        2: "The roll came before the write, and its file was made. A cut takes bytes from a file, even all; the file stays.",
        1: "Only what lies behind the bad batch goes, and nothing does. What was there before the append is sound.",
    },
    "log-end-after-cut": {
        6: _WHOLE_BATCHES,
        8: _WHOLE_BATCHES,
        10: _WHOLE_BATCHES,
        12: _WHOLE_BATCHES,
    },
    "log-end-bad-bit": {
        30: (
            "With its .index it would. But the segment was cut when it was opened, and the scan that comes later finds"
            " nothing to cut in it: it goes on."
        ),
        41: "Segment 30 is recovered alone, when it is opened. Nothing is done to those above it.",
    },
    "time-index-after-load": {
        2: (
            "It is made anew, but empty. Only a missing offset index (or a bad transaction index) makes a segment be"
            " recovered."
        ),
    },
    "epoch-0-first-offset": {
        0: "So it was. But only segments from 15 on are read, and the first batch of epoch 0 that is met is at 15.",
        24: "The scan begins with the whole segment that holds 24.",
    },
    "recovery-differs-after": {
        5: (
            "The index is wrong already, 150 entries of zeros, but zeros are not compared, and the last batch tells the"
            " log end."
        ),
        7: "It comes one append sooner.",
    },
    "recovered-segments-contradicted-by": {
        1: (
            "A kill without damage changes nothing of what comes next: Spark's rule for rolling holds on, and Kafka"
            " agrees with it."
        ),
    },
}
