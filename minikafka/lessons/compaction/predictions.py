"""Wrong answers to the predictions of *Compaction*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "settings-after-retention": {
        3: "Settings b and c stood in the first segment only, and that is the oldest.",
        0: "The newest segment stays, and with it the newest value of a.",
    },
    "first-uncleanable-offset": {
        12: "The active segment is one bound of three, and not the least here. What is not stable must wait as well.",
        14: "Below the high watermark a transaction is still open: the bound is the last stable offset.",
        8: "A cleaning will end there, for it takes whole segments. But that is a later step: the bound itself is 9.",
        16: "That is the log's end. The active segment is never cleaned, and what is not stable has to wait.",
    },
    "log-grabbed-first": {
        "users-0": "It has the most dirty bytes. What counts is their share in the log.",
        "orders-0": "971 of 4042 bytes are dirty, less than 0.3: it is not even a candidate.",
    },
    "slot-of-e": {
        1: "Slot 1 holds a. The whole digests are compared, and they differ: nothing is overwritten.",
        2: "The map does not go on to the neighbouring slot (b is there, too). It reads on in the digest.",
        3: "Slot 3 is free, but it is the slot of e's fourth try. The second one finds a free slot already.",
        6: "That is the slot of the third try. The second one finds slot 5 free.",
    },
    "clean-after-one-turn": {
        6: "There are four keys, and the map has room for three. It ends where the fourth one comes.",
        3: "Offset 3 found room. The end is exclusive: the map's latest offset + 1.",
        0: "A turn need not take in a whole batch. What the map has seen is cleaned.",
        5: "Offset 4 brings the fourth key. What comes after it is not looked at any more.",
    },
    "records-second-pass-writes": {
        3: "That is the head. The tail is written anew as well: all segments from the log's beginning.",
        10: "So many are read. Of a, c and a again older records go: at 2, 6 and 12.",
        6: "A tombstone stays until its horizon, and a marker while a header of its transaction is there.",
        5: "A tombstone stays until its horizon, and a marker while a header of its transaction is there.",
        8: "Three are superseded: c at 2 by 14, a at 6 and 12 by 13. Keys of the head have older records in the tail.",
        9: "Three are superseded: c at 2 by 14, a at 6 and 12 by 13. Keys of the head have older records in the tail.",
    },
    "segments-after-one-turn": {
        4: "After the turn two fit into one. But groups are made before it, of the sizes of then: 97 + 97 > 180.",
        3: "Groups are made of the sizes before the cleaning: 97 + 97 > 180.",
        2: "No group may be larger than a segment, and sizes are those before the cleaning: 97 + 97 > 180.",
        5: "Nothing joins the active segment, and no two others fit into one: 97 + 97 > 180.",
    },
    "hours-until-tombstone-goes": {
        1: "No clock runs when a tombstone is written. The first cleaning that keeps it sets the horizon: at two, plus one.",
        2: "The first cleaning keeps it, or nobody would learn of the deletion. It sets the horizon: an hour from then.",
        0: "Then a consumer that reads a moment later would never learn of the deletion.",
    },
    "slow-consumer-value-a": {
        None: "Nothing from offset 2 on speaks of a any more: the tombstone is gone. Who should tell it?",
    },
    "batches-after-one-turn": {
        1: (
            "Only one has rows that count. But each producer's last sequence number must not be forgotten, nor how its"
            " transaction ended while something of it is there."
        ),
        3: "The markers stay. So do the headers of what they end: they hold the producers' last sequence numbers.",
        4: "Both producers' batches stay as headers, the aborted one as well: each is its producer's last one.",
        6: "The first batch has no producer whose sequence number it could hold. Nothing of it is left.",
    },
    "compaction-differs-after": {
        9: "The consumer sees it there. But the cleaning before, operation 8, has already counted what it kept.",
        2: "There the record is written, and a record that will be aborted is no bug.",
        14: "The second cleaning finds the row gone already.",
    },
    "compaction-contradicted-by": {
        1: "Spark knows from the workload which records survive a cleaning, and Kafka has cleaned its own log.",
    },
}
