"""Wrong answers to the predictions of *Producers and transactions*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "records-after-retry": {
        3: "A log does not compare records. Without a producer's id and sequence, the second batch is as good as the first.",
    },
    "oldest-batch-again": {
        0: "Five batches are remembered, and this was the sixth. It is not known any more.",
        12: "It is not written again: its sequence is not the one that is due, which is 12.",
    },
    "batch-again-after-restart": {
        8: "Five batches are remembered in memory. The snapshot, from which the restart begins, has the last one only.",
    },
    "markers-refused": {
        0: "While a transaction is open, a marker of version 2 must bring a newer epoch. The first one does not.",
        2: "The third one finds no transaction open. It is the second one's retry, and does no harm.",
        3: "Epoch 1 is newer than 0: that marker ends the transaction.",
    },
    "follower-end-open-transaction": {
        2: (
            "A follower does not look at sequences, but it works out the producer's new state. A plain batch in an open"
            " transaction has none."
        ),
        1: "It is refused, and the caller is told by an exception.",
        "OutOfOrderSequenceException": "The sequence is right, and a follower would not look at it.",
    },
    "stable-offset-after-marker": {
        3: (
            "Not yet: the marker could be lost with this leader. The transaction holds LSO until HW has passed the"
            " marker."
        ),
        7: "HW is an upper bound of LSO. The transaction that began at 0 is not decided for good.",
        8: "LSO is never above HW, and 7's transaction holds it at 0 until the marker is replicated.",
    },
    "stable-offsets-differ-after": {
        2: "There both transactions are open, with and without the bug.",
        5: "There HW passes the marker, and the sound log lets go as well.",
        6: "By then the first marker has been replicated. The bug shows at the first marker that is not.",
    },
    "stable-offset-contradicted-by": {
        1: (
            "Spark gives each record its producer's next marker, and asks whether the mark has passed it. It needs no"
            " log for that."
        ),
    },
}
