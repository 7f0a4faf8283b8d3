"""Wrong answers to the predictions of *Start here*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "first-offset-sent": {
        19: "The application gets 19 first. The broker sends whole batches, and 19 is the second record of its batch.",
        20: "20 is the last offset of the batch. The broker sends the batch from its first record on.",
        15: "The segment begins there. The broker looks for the batch, not only for the file.",
    },
    "size-of-open-index": {
        0: "It has no entry yet. But while its log is open, the file has its full size.",
        8: "An entry has 8 bytes, and there is none yet. While its log is open, the file has its full size.",
        16: "The stopped broker's indexes have 16. While a log is open, the file has its full size.",
    },
    "records-consumer-gets": {
        3: "They are in the log. But a consumer reads below the high watermark, and nobody has raised it.",
        1: "They are one batch. But a consumer reads below the high watermark, and nobody has raised it.",
    },
    "rolling-differs-after": {
        0: "The first append finds an empty segment that begins at 0. A roll replaces it: the log still has one segment.",
        2: "That operation only raises the high watermark. Look at the segments after the append before it.",
        3: "All witnesses roll there. The log that rolls *always* had rolled before that.",
        4: "By then all witnesses have rolled. The second append already began a segment.",
    },
}
