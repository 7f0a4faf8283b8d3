"""Wrong answers to the predictions of *Records*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "amount-after-flip": {
        100: "The byte that flipped is the first digit of the amount, and without a checksum nobody notices.",
    },
    "varint-64-length": {
        1: "64 fits seven bits, but zigzag doubles it first: 128 needs eight.",
        4: "A varint has no fixed size. 64 becomes 128 by zigzag, which takes two groups of seven bits.",
    },
    "fields-changed-by-leader": {
        1: "The base offset, and the leader epoch, which no producer knows.",
        3: "The CRC stays: base offset and leader epoch lie before what it covers.",
        5: "The records hold distances from the base offset; none of them changes.",
        6: "The records hold distances from the base offset, and the CRC does not cover it.",
    },
    "fields-with-append-time": {
        2: "Base offset and leader epoch, yes; and the time of the append must stand somewhere.",
        3: "The max timestamp, and an attribute bit that says what it means. Both lie under the CRC.",
        4: "Attributes and max timestamp lie under the CRC, so there is a new CRC as well.",
        8: "No record is touched: they all get the batch's max timestamp when they are read.",
    },
    "base-offset-after-compaction": {
        1: "Records 0 and 1 are gone both. But the batch still stands for all four offsets.",
        2: "That is its first record. The batch still stands for all four offsets.",
    },
    "flips-that-pass": {
        0: "The CRC does not cover what stands before it, and one of those fields is of no interest to the leader.",
        2: "A client's batch must begin at offset 0: of the fields before the CRC only the leader epoch is not looked at.",
        3: "Base offset, length and magic are looked at in other ways: only the leader epoch passes.",
        4: "All four lie outside of the CRC. But three of them are looked at in other ways.",
        5: "The CRC itself is compared. Of the fields before it only the leader epoch is not looked at.",
    },
    "stale-crc-differs-after": {
        0: "The CRC is wrong from there on, but nobody compares it: an append looks at what comes in, before it writes.",
        1: "The CRC is wrong from operation 0 on, and no later append reads what is written.",
        4: "A start after a clean stop believes the files. Only a recovery compares CRCs.",
    },
    "stale-crc-log-end": {
        7: "The recovery begins at the first batch, whose CRC is wrong. It cuts before it.",
        3: "The first batch has a wrong CRC already. The log is cut before it.",
        5: "The first batch has a wrong CRC already. The log is cut before it.",
    },
}
