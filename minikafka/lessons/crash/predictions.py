"""Wrong answers to the predictions of *Crash and recovery*, by question, and what one must believe to give such an answer."""

_WHOLE_BATCHES = (
    "The batches end at bytes 95, 190 and 285. Those that end at or below BYTE are whole and stay; the log ends before"
    " the first one that is not."
)

BELIEFS: dict[str, dict[object, str]] = {
    "Four records, a roll, two more records, then the background task has run. The recovery point?": {
        0: "The roll asked for a flush, and the task has run: what lies below the new segment is on the device.",
        6: "The task flushes what lies below the new segment. The two records in it were not asked for.",
        3: "3 is the last offset of the old segment. The recovery point is the first one that is not flushed.",
    },
    "The segments begin at 0, 15, 30, 41 and 56, the recovery point is 24. How many of them are scanned?": {
        3: "The segment that begins at 15 holds offset 24. It is scanned from its first byte.",
        5: "Segment 0 ends at 15, below the recovery point: it is known to be on the device.",
        1: (
            "The active segment only? Anything above the recovery point may be torn: the device writes in the order it"
            " likes."
        ),
    },
    "105 of the new batch's 112 bytes are on the disk. How many segments has the log after the load?": {
        2: "The roll came before the write, and its file was made. A cut takes bytes from a file, even all; the file stays.",
        1: "Only what lies behind the bad batch goes, and nothing does. What was there before the append is sound.",
    },
    "Segment 6 is cut to BYTE bytes. The log ends at?": {
        6: _WHOLE_BATCHES,
        8: _WHOLE_BATCHES,
        10: _WHOLE_BATCHES,
        12: _WHOLE_BATCHES,
    },
    "The time index of segment 30 is missing, the stop was clean. How many entries has it after the load?": {
        2: (
            "It is made anew, but empty. Only a missing offset index (or a bad transaction index) makes a segment be"
            " recovered."
        ),
    },
    "Segment 30 has a bad bit in its first batch, and no .index. After an unclean stop the log ends at?": {
        30: (
            "With its .index it would. But the segment was cut when it was opened, and the scan that comes later finds"
            " nothing to cut in it: it goes on."
        ),
        41: "Segment 30 is recovered alone, when it is opened. Nothing is done to those above it.",
    },
    "The first offset of epoch 0 after the load?": {
        0: "So it was. But only segments from 15 on are read, and the first batch of epoch 0 that is met is at 15.",
        24: "The scan begins with the whole segment that holds 24.",
    },
    "The upper new segment is .swap already, of the lower one only the .log is, its .index still .cleaned. The load…? ('undoes' or 'completes')": {
        "completes": (
            "A .cleaned file is left. Whoever renames goes from the highest offset down, so the lowest ones tell"
            " whether it was done."
        ),
    },
    "After which operation do minikafka and Kafka differ first?": {
        5: (
            "The index is wrong already, 150 entries of zeros, but zeros are not compared, and the last batch tells the"
            " log end."
        ),
        7: "It comes one append sooner.",
    },
    "About the segments after that append, how many witnesses contradict minikafka? (1 or 2)": {
        1: (
            "A kill without damage changes nothing of what comes next: Spark's rule for rolling holds on, and Kafka"
            " agrees with it."
        ),
    },
}
