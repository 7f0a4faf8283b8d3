"""Wrong answers to the predictions of *Damaged and missing files*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "aborted-record-after-delete": {
        False: "The marker is in the `.log`, but a clean start does not read it. Without the file no transaction counts as aborted.",
    },
    "log-end-bad-bit": {
        30: "The segment was already cut when it was opened. The later scan finds nothing to cut.",
        41: "Segment 30 is recovered alone, when it is opened. Those above it stay.",
    },
    "time-index-after-load": {
        2: "The load creates it empty. Only a missing offset index or a bad transaction index leads to recovery.",
    },
    "epoch-0-first-offset": {
        0: "Only segments from 15 on are read, and the first batch of epoch 0 there is at 15.",
        24: "The scan begins with the whole segment that holds 24.",
    },
    "missing-index-differs-in": {
        "result": "A scan from byte 0 of the segment finds the batch all the same.",
        "segments": "The `.log` files are as they were.",
        "log_end_offset": "The last batch of the last segment tells the log end, and it is as it was.",
    },
    "missing-index-contradicted-by": {
        1: "Spark knows nothing of the damage. It says what the index held before, and a start must restore that.",
    },
}
