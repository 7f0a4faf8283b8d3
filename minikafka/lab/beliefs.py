"""Wrong answers to the predictions of the lessons, and what one must believe to give them.

They stand here and not in the lessons, so that nobody reads them before answering.
"""

BELIEFS: dict[str, dict[object, str]] = {
    # segments
    "The base offset of segments.higher_segment(15)?": {
        15: "Higher means strictly greater. You thought of the ceiling (≥), which Kafka's map never asks for.",
    },
    "The base offset of the active segment after 10 more records?": {
        10: "The segment is exactly full. 353 + 231 bytes are too many for it, so a new one begins.",
        19: "19 is the last offset written. A segment begins at the next one.",
        30: "30 will be the next offset after the append. The segment begins where the append begins.",
    },
    "Does the index hold an entry for exactly offset 65? (True or False)": {
        True: "The index is sparse: most offsets have no entry. The search gives the greatest entry that is not above 65.",
    },
    "How many segments does retention.bytes=2000 delete?": {
        4: "That would leave 1829 bytes, less than asked for. A segment goes only while the rest is still ≥ retention.bytes.",
        2: "Two leave 3659 bytes, and without a third one 2744 are still enough.",
    },
    "After which operation do the segments differ first?": {
        4: "The fourth append rolls with and without the bug. It is the third that fills the segment exactly.",
    },
    # high-watermark
    "What comes of there.position_diff(snapshot.log_end_offset)? (a number, or the name of an exception)": {
        -54: "That is the difference of the offsets. Bytes can be compared only within one file.",
        54: "That is the difference of the offsets. Bytes can be compared only within one file.",
    },
    "update_high_watermark(12) on a log that ends at 10 returns?": {
        12: "The mark can't pass the log end: what is not written is not replicated.",
        9: "The mark is exclusive. At LEO it says: all of the log is committed.",
        6: "It is not refused: update_high_watermark bends the value to the nearest one allowed.",
    },
    "maybe_increment_high_watermark(LogOffsetMetadata(11)) on a log that ends at 10? (a value, or the name of an exception)": {
        10: "That is update_high_watermark, which bends. The leader has worked the value out from replicas: above LEO it must be a bug.",
        "OffsetOutOfRangeException": "That is for readers. An argument that can't be right is an IllegalArgumentException.",
    },
    "The high watermark after the first read up to it?": {
        34: "So one would think. But the lookup reads the batch, and since Kafka 4.0 a read reports the batch's base offset.",
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
}
