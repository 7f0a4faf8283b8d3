"""Wrong answers to the predictions of *Start here*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "first-offset-sent": {
        19: "That is what the application gets. The broker sends whole batches, and 19 is the second record of one.",
        20: "20 is the last offset of the batch. It is sent from its first record on.",
        15: "The segment begins there. The broker looks for the batch, not only for the file.",
    },
    "size-of-open-index": {
        0: "It has no entry yet, but room for all that may come: while it is open, the file has its full size.",
        8: "An entry has 8 bytes, and there is none yet. While it is open, the file has its full size.",
        16: "Those of a broker that was stopped have 16. While it is open, the file has its full size.",
    },
    "records-consumer-gets": {
        3: "They are in the log. But a consumer reads below the high watermark, and nobody has raised it.",
        1: "They are one batch. Still, a consumer reads below the high watermark, and nobody has raised it.",
    },
    "rolling-differs-after": {
        0: "The first append finds an empty segment that begins at 0. A roll there makes it anew: it is still the only one.",
        2: "That moves a mark. Look at the segments after the append before it.",
        3: "There all roll. Those that roll too early did so before.",
        4: "Before it, everybody has rolled by order. The second append already began a segment.",
    },
}
