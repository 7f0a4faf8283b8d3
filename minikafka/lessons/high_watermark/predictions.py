"""Wrong answers to the predictions of *High watermark*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "offset-2-after-failover": {
        3: "The follower never had the record 2: its log ended at 2.",
    },
    "position-diff-to-end": {
        -54: "Bytes can be compared only within one file.",
        54: "Bytes can be compared only within one file.",
    },
    "update-beyond-log-end": {
        12: "The mark can't pass the log end: what is not written is not replicated.",
        9: "The mark is exclusive. At LEO all of the log is committed.",
        6: "update_high_watermark does not refuse the value: it takes the nearest one allowed.",
    },
    "increment-beyond-log-end": {
        10: "update_high_watermark would do that. Here the leader computed the value: above LEO it must be a bug.",
        "OffsetOutOfRangeException": (
            "That is for readers. An argument that can't be right is an IllegalArgumentException."
        ),
    },
    "mark-after-first-read": {
        34: "The lookup reads the batch, and since Kafka 4.0 a read reports the batch's base offset.",
        36: "Here it goes down: consumers must not see what is not committed.",
    },
    "mark-after-follower-fetch": {
        5: "HW is not the highest LEO: offsets 0 to 4 were on the leader and on one follower only.",
        8: "8 is the leader's own end. The mark is the least end in the ISR.",
    },
    "mark-differs-after": {
        6: "Taking follower 2 out raises the mark, with and without the bug.",
        5: "There the mark first rises. Only a step back shows the bug.",
    },
    "mark-result-contradicted-by": {
        2: "Spark computes the mark, not what a call returns.",
    },
}
