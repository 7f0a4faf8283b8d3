"""Wrong answers to the predictions of *Compaction*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "settings-after-retention": {
        3: "Settings b and c were in the first segment only, the oldest.",
        0: "The newest segment stays, and with it the newest value of a.",
    },
    "first-uncleanable-offset": {
        12: "The active segment is one bound of three, and not the least here.",
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
        3: "That is the head. The tail is rewritten as well.",
        10: "So many are read. Older records of a and c go: at 2, 6 and 12.",
        6: "The tombstone's horizon is not reached, and the marker's transaction still has a header.",
        5: "The tombstone's horizon is not reached, and the marker's transaction still has a header.",
        8: "Three are superseded: c at 2 by 14, a at 6 and 12 by 13.",
        9: "Three are superseded: c at 2 by 14, a at 6 and 12 by 13.",
    },
    "segments-after-one-turn": {
        4: "Sizes before the cleaning count: 97 + 97 > 180.",
        3: "Sizes before the cleaning count: 97 + 97 > 180.",
        2: "Sizes before the cleaning count: 97 + 97 > 180.",
        5: "Nothing joins the active segment, and no two others fit: 97 + 97 > 180.",
    },
    "hours-until-tombstone-goes": {
        1: "The clock starts at the first cleaning, at hour two: plus one.",
        2: "The first cleaning keeps it, and sets the horizon: an hour from then.",
        0: "Then a consumer that reads a moment later would miss the deletion.",
    },
    "slow-consumer-value-a": {
        None: "From offset 2 on no record of a is left: the tombstone is gone.",
    },
    "batches-after-one-turn": {
        1: "A producer's last sequence number must stay, and its transaction's marker.",
        3: "The markers stay. So do the headers with the producers' last sequence numbers.",
        4: "Both producers' batches stay as headers, also the aborted one.",
        6: "The first batch has no producer and no records left: it goes.",
    },
    "compaction-differs-after": {
        9: "The cleaning before, operation 8, has already counted what it kept.",
        2: "That writes the record. The bug is in the cleaning.",
        14: "The second cleaning finds the row gone already.",
    },
    "compaction-contradicted-by": {
        1: "Spark knows from the workload which records survive, and Kafka has cleaned its own log.",
    },
}
