"""Wrong answers to the predictions of *Read*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "bobs-sum-without-isolation": {
        40: "Only 40 is committed. This reader gets the records of every transaction.",
        130: "The −10 is in the log, too, below the high watermark.",
        30: "Nothing tells this reader that the 90 were aborted.",
    },
    "follower-answer-last-offset": {
        16: "An answer comes from one file and ends with segment 0. The follower asks again.",
        14: "HW is a consumer's bound. A follower's is LEO.",
        10: "LSO is the bound of `read_committed`. A follower's is LEO.",
    },
    "read-from-5-begins": {
        5: "No record has offset 5. A read finds the first batch that ends at or above the start.",
        0: "The batch from 0 to 2 ends below 5. Segment 0 has nothing more, so the next segment is read.",
        "OffsetOutOfRangeException": "Only a start below the log start or above LEO is out of range. A hole is not.",
    },
    "batches-scan-looks-at": {
        1: "The entry names the batch that ends with 100. Three batches follow up to 106.",
        60: "The scan begins at the byte of the entry.",
    },
    "bytes-read-from-9": {
        95: "The broker does not look for the end of a batch: it cuts at the limit.",
        190: "Only the first batch may exceed the limit.",
    },
    "transaction-indexes-asked": {
        1: "The records are in segment 0, but the marker that aborts them may be in any later segment.",
        3: "The entry in segment 5 already ends the search.",
        4: "The entry in segment 5 ends the search.",
    },
    "deleted-record-still-sent": {
        False: "A read at 6 begins with the batch that holds 6, and that one begins at 5. The consumer drops it.",
    },
    "offset-found-by-timestamp": {
        2: "Offset 2 has that timestamp, but offset 1 comes first and is not older.",
        0: "Record 0 is older than noon + 2000.",
    },
    "write-to-sender-now": {
        0: "The reader was promised 95 bytes and would wait for them.",
        95: "The file was cut: these bytes are gone.",
        "EOFException": "Kafka's writeTo compares the sizes itself, and throws its own exception.",
        "OffsetOutOfRangeException": "The view knows bytes, not offsets.",
    },
    "aborted-list-missed-after": {
        4: "Both transactions are still open, above the bound: no list is needed.",
        5: "The marker is written correctly. The fault is in a later read.",
        14: "That read shows it, too, but a consumer has read before.",
    },
    "consumer-view-contradicted-by": {
        1: "Both know that producer 7 aborted: Spark by its rule, Kafka by its log.",
    },
}
