"""Wrong answers to the predictions of *Append*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "read-offset-3": {
        "the records 3 4 5": "In the file both batches begin at offset 0: no `append` gave them other offsets.",
        "the records 0 1 2": "A read looks for an offset of 3 or more, and both batches end at 2.",
    },
    "append-last-offset": {
        13: "13 is LEO afterwards. last_offset is inclusive.",
        2: "That is what the producer wrote. The leader has given new offsets in step 5.",
        10: "10 is the first of the three.",
    },
    "follower-end-after-copy": {
        13: "The batch of epoch 1 is of a later epoch than the one in which the follower asked: it is skipped.",
        0: "Only the batch of the later epoch is skipped.",
        "UnexpectedAppendOffsetException": "That is for offsets below LEO. A batch of a later epoch is skipped without an exception.",
    },
    "follower-end-after-overlap": {
        23: "Offset 21 is below its log end, 22. It refuses the whole batch, offset 22 too.",
        22: "It stays at 22, but the caller gets an exception.",
        "OffsetsOutOfOrderException": "That is for batches of one append. Here the append begins below LEO.",
        "OffsetOutOfRangeException": "That is for readers.",
    },
    "segments-after-refused-append": {
        1: "The roll of step 8 came before the refusal of step 9, and is not undone.",
    },
    "forgotten-bytes-differ-after": {
        1: "There the CRC is wrong, however large the batch is.",
        3: "270 bytes are more than 250 even without 12 of them.",
        4: "129 bytes are not above the limit: both take the batch.",
    },
    "log-end-contradicted-by": {
        1: "Spark knows the sizes and the limit, and its running sum is LEO.",
    },
}
