"""Wrong answers to the predictions of *High watermark*, by question, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "What does there.position_diff(snapshot.log_end_offset) give? (a number, or the name of an exception)": {
        -54: "That is the difference of the offsets. Bytes can be compared only within one file.",
        54: "That is the difference of the offsets. Bytes can be compared only within one file.",
    },
    "update_high_watermark(12) on a log that ends at 10 returns?": {
        12: "The mark can't pass the log end: what is not written is not replicated.",
        9: "The mark is exclusive. At LEO it says: all of the log is committed.",
        6: "It is not refused: update_high_watermark bends the value to the nearest one allowed.",
    },
    "maybe_increment_high_watermark(LogOffsetMetadata(11)) on a log that ends at 10? (a value, or the name of an exception)": {
        10: (
            "That is update_high_watermark, which bends. The leader has worked the value out from replicas: above LEO"
            " it must be a bug."
        ),
        "OffsetOutOfRangeException": (
            "That is for readers. An argument that can't be right is an IllegalArgumentException."
        ),
    },
    "The high watermark after the first read up to it?": {
        34: (
            "So one would think. But the lookup reads the batch, and since Kafka 4.0 a read reports the batch's base"
            " offset."
        ),
        36: "It is never rounded up: what is not committed must not be shown.",
    },
    "The fetch of follower 1 from 5 came when follower 2 had fetched from 0. The mark after it?": {
        5: "HW is not the highest LEO: offsets 0 to 4 were on the leader and on one follower only.",
        8: "8 is the leader's own end. The mark is the least end in the ISR.",
    },
    "After which operation do the witnesses differ first?": {
        6: "Taking follower 2 out raises the mark, with and without the bug.",
        5: "There the mark rises for the first time. Only a step back can tell the bug.",
    },
    "About the result of that operation, how many witnesses contradict minikafka? (1 or 2)": {
        2: (
            "Spark works out where the mark must be, not what a call returns. Where a witness has no rule, it says"
            " nothing."
        ),
    },
}
