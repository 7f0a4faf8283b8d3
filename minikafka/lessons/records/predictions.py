"""Wrong answers to the predictions of *Records*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "amount-after-flip": {
        100: "The flipped byte is the first digit of the amount. Without a checksum nobody notices.",
    },
    "varint-64-length": {
        1: "64 fits seven bits, but zigzag doubles it first: 128 needs eight.",
        4: "A varint has no fixed size. Zigzag makes 128 of 64, which takes two groups of seven bits.",
    },
    "fields-changed-by-leader": {
        1: "Base offset and leader epoch change; no producer knows the epoch.",
        3: "The CRC stays: it does not cover base offset and leader epoch.",
        5: "No record changes: records hold distances from the base offset.",
        6: "No record changes: records hold distances. The CRC does not cover the base offset.",
    },
    "fields-with-append-time": {
        2: "Base offset and leader epoch change, but the append's time changes more.",
        3: "Max timestamp and an attribute bit change, and so does the CRC that covers them.",
        4: "The CRC covers attributes and max timestamp, so it changes as well.",
        8: "No record changes: readers give all of them the batch's max timestamp.",
    },
    "base-offset-after-compaction": {
        1: "Records 0 and 1 are both gone. But the batch still stands for all four offsets.",
        2: "That is its first record. The batch still stands for all four offsets.",
    },
    "flips-that-pass": {
        0: "The CRC does not cover the fields before it. The leader does not check one of them.",
        2: "A client's batch must begin at offset 0: only the leader epoch passes.",
        3: "The leader checks base offset, length and magic: only the leader epoch passes.",
        4: "The CRC covers none of these four, but the leader checks three of them.",
        5: "The leader compares the CRC. Before it only the leader epoch passes.",
    },
    "stale-crc-differs-after": {
        0: "The CRC is wrong from there on, but an append checks only incoming batches.",
        1: "The CRC is wrong from operation 0 on, but no later append reads stored batches.",
        4: "A start after a clean stop trusts the files. Only a recovery compares CRCs.",
    },
    "stale-crc-log-end": {
        7: "The first batch has a wrong CRC. The recovery cuts before it.",
        3: "The first batch already has a wrong CRC. The recovery cuts before it.",
        5: "The first batch already has a wrong CRC. The recovery cuts before it.",
    },
}
