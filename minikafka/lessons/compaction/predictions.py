"""Wrong answers to the predictions of *Compaction*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "settings-after-retention": {
        3: "Settings b and c were in the first segment only, the oldest.",
        0: "The newest segment stays, and with it the newest value of a.",
    },
    "first-uncleanable-offset": {
        12: "The active segment is one of three bounds. Here another is lower.",
        14: "A transaction is open: the bound is the last stable offset.",
        8: "The cleaning will end there, with whole segments. The bound itself is 9.",
        16: "That is the log end. The active segment is never cleaned.",
    },
    "log-grabbed-first": {
        "users-0": "It has the most dirty bytes. What counts is their share.",
        "orders-0": "971 of 4042 bytes are dirty, less than 0.3: it is no candidate.",
    },
    "slot-of-e": {
        1: "Slot 1 holds a, with another digest: nothing is overwritten.",
        2: "The map does not try the neighbouring slot; it reads on in the digest.",
        3: "That is the slot of the fourth try. The second finds a free slot.",
        6: "That is the slot of the third try. The second finds slot 5 free.",
    },
    "clean-after-one-turn": {
        6: "There are four keys, and room for three.",
        3: "Offset 3 found room. The end is exclusive: the map's latest offset + 1.",
        0: "A turn may end inside a batch.",
        5: "Offset 4 brings the fourth key.",
    },
    "records-second-pass-writes": {
        3: "Those are the head's. The cleaner rewrites the tail as well.",
        4: "The first pass reads four.",
        10: "Ten are read. Three go: c at 2, a at 9 and 11.",
        6: "The newest record of b is a tombstone, and its horizon is not reached: it stays.",
        8: "Three go: c at 2, a at 9 and 11.",
        9: "Three go: c at 2, a at 9 and 11.",
    },
    "segments-after-one-turn": {
        4: "Sizes before the cleaning count: 97 + 97 > 180.",
        3: "Sizes before the cleaning count: 97 + 97 > 180.",
        2: "Sizes before the cleaning count: 97 + 97 > 180.",
        5: "Nothing joins the active segment, and no two others fit: 97 + 97 > 180.",
    },
    "early-cleaning-contradicted-first": {
        "spark at 7": "Spark tells what a consumer sees, at 7. Kafka tells at 6 what its cleaning kept.",
        "Apache Kafka at 7": "The cleaning before, operation 6, has already counted what it kept.",
        "spark at 10": "By then 6 to 8 are committed, and all see the same rows.",
    },
}
