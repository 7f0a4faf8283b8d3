"""Wrong answers to the predictions of *High watermark*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "offset-2-after-failover": {
        2: "The follower never had the record 2. At the next offset that it knew it took another one.",
    },
    "position-diff-to-end": {
        -54: "That is the difference of the offsets. Bytes can be compared only within one file.",
        54: "That is the difference of the offsets. Bytes can be compared only within one file.",
    },
    "update-beyond-log-end": {
        12: "The mark can't pass the log end: what is not written is not replicated.",
        9: "The mark is exclusive. At LEO it says: all of the log is committed.",
        6: "It is not refused: update_high_watermark bends the value to the nearest one allowed.",
    },
    "increment-beyond-log-end": {
        10: (
            "That is update_high_watermark, which bends. The leader has worked the value out from replicas: above LEO"
            " it must be a bug."
        ),
        "OffsetOutOfRangeException": (
            "That is for readers. An argument that can't be right is an IllegalArgumentException."
        ),
    },
    "mark-after-first-read": {
        34: (
            "So one would think. But the lookup reads the batch, and since Kafka 4.0 a read reports the batch's base"
            " offset."
        ),
        36: "It is never rounded up: what is not committed must not be shown.",
    },
    "mark-after-follower-fetch": {
        5: "HW is not the highest LEO: offsets 0 to 4 were on the leader and on one follower only.",
        8: "8 is the leader's own end. The mark is the least end in the ISR.",
    },
    "mark-differs-after": {
        6: "Taking follower 2 out raises the mark, with and without the bug.",
        5: "There the mark rises for the first time. Only a step back can tell the bug.",
    },
    "mark-result-contradicted-by": {
        2: (
            "Spark works out where the mark must be, not what a call returns. Where a witness has no rule, it says"
            " nothing."
        ),
    },
}
