"""Wrong answers to the predictions of *Segments*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "bytes-whole-keeps": {
        500: "That would cut the file in the midst. A log forgets whole segments only.",
        0: "The one file is the active segment. It holds what should be kept, too, and stays as a whole.",
        672: "That is what the log in pieces keeps. The log in one file has no piece to let go of.",
    },
    "higher-segment-of-15": {
        15: "Higher means strictly greater. You thought of the ceiling (≥), which Kafka's map never asks for.",
    },
    "active-segment-base-offset": {
        10: "The segment is exactly full. 353 + 231 bytes are too many for it, so a new one begins.",
        19: "19 is the last offset written. A segment begins at the next one.",
        30: "30 will be the next offset after the append. The segment begins where the append begins.",
    },
    "index-entry-stored-number": {
        23: (
            "An index does not hold absolute offsets: they have eight bytes. It holds the distance from the segment's"
            " base offset."
        ),
        7: "The distance is counted from the base offset itself: 15 is 0, 16 is 1.",
        9: "The distance is counted from the base offset itself: 15 is 0, 16 is 1.",
    },
    "index-has-entry-65": {
        True: (
            "The index is sparse: most offsets have no entry. The search gives the greatest entry that is not above 65."
        ),
    },
    "segments-retention-deletes": {
        4: (
            "That would leave 1829 bytes, less than asked for. A segment goes only while the rest is still ≥"
            " retention.bytes."
        ),
        2: "Two leave 3659 bytes, and without a third one 2744 are still enough.",
    },
    "segments-differ-after": {
        4: (
            "Operation 4 is the append of 10 records, which rolls with and without the bug. It is the append of 2 that"
            " fills the segment exactly."
        ),
    },
    "segments-contradicted-by": {
        1: (
            "Spark has a rule for rolling: it works out the segments from the sizes of the batches, and Kafka has run"
            " them."
        ),
    },
}
