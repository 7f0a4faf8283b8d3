"""Wrong answers to the predictions of *Segments*, by question, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "The base offset of segments.higher_segment(15)?": {
        15: "Higher means strictly greater. You thought of the ceiling (≥), which Kafka's map never asks for.",
    },
    "The base offset of the active segment after 10 more records?": {
        10: "The segment is exactly full. 353 + 231 bytes are too many for it, so a new one begins.",
        19: "19 is the last offset written. A segment begins at the next one.",
        30: "30 will be the next offset after the append. The segment begins where the append begins.",
    },
    "Does the index hold an entry for exactly offset 65? (True or False)": {
        True: (
            "The index is sparse: most offsets have no entry. The search gives the greatest entry that is not above 65."
        ),
    },
    "Segment 15's first index entry leads from offset 23 to byte 363. Which number do its first four bytes hold?": {
        23: (
            "An index does not hold absolute offsets: they have eight bytes. It holds the distance from the segment's"
            " base offset."
        ),
        7: "The distance is counted from the base offset itself: 15 is 0, 16 is 1.",
        9: "The distance is counted from the base offset itself: 15 is 0, 16 is 1.",
    },
    "How many segments does retention.bytes=2000 delete?": {
        4: (
            "That would leave 1829 bytes, less than asked for. A segment goes only while the rest is still ≥"
            " retention.bytes."
        ),
        2: "Two leave 3659 bytes, and without a third one 2744 are still enough.",
    },
    "After which operation do the segments differ first?": {
        4: (
            "Operation 4 is the append of 10 records, which rolls with and without the bug. It is the append of 2 that"
            " fills the segment exactly."
        ),
    },
    "About the segments after that operation, how many witnesses contradict minikafka? (1 or 2)": {
        1: (
            "Spark has a rule for rolling: it works out the segments from the sizes of the batches, and Kafka has run"
            " them."
        ),
    },
}
