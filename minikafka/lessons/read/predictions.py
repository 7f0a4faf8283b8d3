"""Wrong answers to the predictions of *Read*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "bobs-sum-without-isolation": {
        40: "That is what was committed. This reader gets the records of every transaction.",
        130: "The 10 that are taken from Bob are in the log, too, below the high watermark.",
        30: "Nothing tells this reader that the 90 were aborted: the records are in the log.",
    },
    "follower-answer-last-offset": {
        16: "An answer is a view of one file. It ends where segment 0 ends; the follower asks again.",
        14: "That is the high watermark's business. A follower reads up to LEO, or nothing would be replicated.",
        10: "That is the last stable offset's business. A follower reads up to LEO.",
    },
    "read-from-5-begins": {
        5: "No record has offset 5. A read finds the first batch that ends at or above the start.",
        0: (
            "The batch from 0 to 2 ends below 5. A segment without anything from 5 on answers nothing, and the next is"
            " asked."
        ),
        "OffsetOutOfRangeException": "Out of range is what lies below the log start or above LEO. Holes are ordinary.",
    },
    "batches-scan-looks-at": {
        1: "An entry names the batch that ends with its offset, 100 here. Batches with higher offsets come behind it.",
        60: "Without an index it would be so. The scan begins at the byte of the entry.",
    },
    "bytes-read-from-9": {
        95: (
            "One whole batch, so one would think. But the broker does not look for the end of a batch: it cuts at the"
            " limit."
        ),
        190: "The limit is kept to: only the first batch may break it.",
    },
    "transaction-indexes-asked": {
        1: "The records come from segment 0, but the markers that abort them may lie in any later segment.",
        3: (
            "Segment by segment, until an entry says that all below the upper bound was decided when it was written."
            " Segment 5 has one."
        ),
        4: (
            "Not all of them: the walk ends at an entry that says that all below the upper bound was decided. Segment 5"
            " has one."
        ),
    },
    "deleted-record-still-sent": {
        False: "A read at 6 begins with the batch that holds 6, and that one begins at 5. The consumer drops it.",
    },
    "offset-found-by-timestamp": {
        2: (
            "Not the record with that timestamp: the first one, by offset, that is not older. Whoever reads from there"
            " misses nothing."
        ),
        0: "Record 0 is older than noon + 2000.",
    },
    "write-to-sender-now": {
        0: (
            "It could send nothing and say nothing; but a reader that was promised bytes would wait for them. It is"
            " told."
        ),
        95: "The bytes are gone, and what is not there can't be sent.",
        "OffsetOutOfRangeException": "The view knows bytes, not offsets.",
    },
    "aborted-list-missed-after": {
        4: "There both transactions are open: the bound stops the reader before them, and no list is needed.",
        5: "Writing a marker is sound. What is wrong is read later.",
        14: "That read would show it, too, but a consumer came by before.",
    },
    "consumer-view-contradicted-by": {
        1: "Spark has its sentence about markers, and Kafka has its log. Both know that producer 7 aborted.",
    },
}
