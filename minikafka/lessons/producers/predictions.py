"""Wrong answers to the predictions of *Producers and transactions*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "records-after-retry": {
        3: "A log does not compare records. Without a producer id and a sequence, it writes the second batch like the first.",
    },
    "oldest-batch-again": {
        0: "The log remembers five batches, and this is the sixth from the end.",
        12: "The log does not write it again: the next sequence is 12, not 0.",
    },
    "batch-again-after-restart": {
        8: "The log remembers five batches in memory. The snapshot has only the last one.",
    },
    "markers-refused": {
        0: "While a transaction is open, a marker of version 2 must bring a newer epoch. The first one does not.",
        2: "The third one finds no transaction open. It repeats the second one, and does no harm.",
        3: "Epoch 1 is newer than 0: that marker ends the transaction.",
    },
    "follower-end-open-transaction": {
        2: "A follower does not check sequences, but it computes the producer's state. No state allows a plain batch within a transaction.",
        1: "The follower refuses it, and the caller gets an exception.",
        "OutOfOrderSequenceException": "The sequence is right, and a follower would not check it.",
    },
    "stable-offset-after-marker": {
        3: "Not yet: this leader could lose the marker. LSO waits until HW has passed it.",
        7: "HW is an upper bound of LSO. The transaction that began at 0 is not decided for good.",
        8: "LSO is never above HW, and 7's transaction holds it at 0 until the marker is replicated.",
    },
    "stable-offsets-differ-after": {
        2: "Both transactions are open there, with and without the bug.",
        5: "There HW passes the marker, so the sound log also moves its LSO.",
        6: "By then the first marker is replicated. The bug shows before that, as soon as this marker is written.",
    },
    "stable-offset-contradicted-by": {
        1: "Spark finds each record's next marker, and whether HW has passed it. It needs no log for that.",
    },
}
