"""Wrong answers to the predictions of *Segments*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "bytes-whole-keeps": {
        500: "That would cut a file. Retention deletes whole segments only.",
        0: "The one file also holds what must stay, so it stays as a whole.",
        672: "The log in pieces keeps 672. One file has no piece to delete.",
    },
    "higher-segment-of-15": {
        15: "Higher means strictly greater. This is the ceiling (≥).",
    },
    "active-segment-base-offset": {
        10: "The segment is exactly full: 353 + 231 bytes are too many, so a new one begins.",
        19: "19 is the last offset written. A segment begins at the next one.",
        30: "30 is the next offset after the append. The segment begins where the append begins.",
    },
    "index-entry-stored-number": {
        23: "An index does not hold absolute offsets. It holds distances from the segment's base offset.",
        7: "The base offset 15 counts as 0, 16 as 1.",
        9: "The base offset 15 counts as 0, 16 as 1.",
    },
    "index-has-entry-65": {
        True: "The index is sparse. The search gives the greatest entry that is not above 65.",
    },
    "segments-retention-deletes": {
        4: "That would leave 1829 bytes, less than retention.bytes.",
        2: "Two leave 3659 bytes. Without a third one, 2744 are still enough.",
    },
    "segments-differ-after": {
        4: "Operation 4 rolls with and without the bug. The append of 2 records fills the segment exactly.",
    },
    "segments-contradicted-by": {
        1: "Spark has a rule for rolling: it derives the segments from the sizes of the batches.",
    },
}
