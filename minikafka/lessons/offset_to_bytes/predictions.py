"""Wrong answers to the predictions of *From an offset to bytes*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "fetches-without-exception-end": {
        17: "The batch from 13 on has more than 150 bytes. No answer holds it whole, so the reader never gets past it.",
        15: "The reader cannot jump over a batch: its next offset is the one behind the last whole batch that it got.",
        14: "A piece of a batch is of no use: the reader gets none of its records.",
    },
    "batches-scan-looks-at": {
        1: "The entry names the batch that ends with 100. Three more follow, up to the one with 106.",
        60: "The scan begins at the byte of the entry.",
    },
    "read-from-5-begins": {
        5: "No record has offset 5. A read finds the first batch that ends at or above the start.",
        0: "The batch from 0 to 2 ends below 5. Segment 0 has nothing more, so the next segment is read.",
        "OffsetOutOfRangeException": "Only a start below the log start or above LEO is out of range. A hole is not.",
    },
    "bytes-read-from-9": {
        95: "The broker does not look for the end of a batch: it cuts at the limit.",
        190: "Only the first batch may exceed the limit.",
    },
    "offset-found-by-timestamp": {
        2: "Offset 2 has that timestamp, but offset 1 comes first and is not older.",
        0: "Record 0 is older than noon + 2000.",
    },
    "write-to-sender-now": {
        0: "The reader was promised 95 bytes and would wait for them.",
        95: "The file was cut: these bytes are gone.",
        "EOFException": "Kafka's writeTo compares the sizes before it sends, and throws a KafkaException.",
        "OffsetOutOfRangeException": "The view knows bytes, not offsets.",
    },
    "base-offset-scan-differs": {
        4: "This count begins where a batch begins, and so does each read that it makes.",
        5: "3 is the base offset of a batch: the scan finds it by that alone.",
        7: "That count shows it, too, but an earlier read already begins inside a batch.",
    },
    "base-scan-contradicted-by": {
        2: "Spark works out counts from the lines. It does not say where in the file a read begins.",
    },
}
