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
        13: "Another leader wrote the batch of epoch 1: it is skipped.",
        0: "Only the batch of the later epoch is skipped.",
        "UnexpectedAppendOffsetException": "That is for offsets below LEO. A batch of a later epoch is skipped without an exception.",
    },
    "follower-end-after-overlap": {
        23: "Offset 21 is below its log end, 22. It does not take a record twice, nor anything behind it.",
        22: "It stays at 22, but the caller gets an exception.",
        "OffsetsOutOfOrderException": "That is for batches of one set. Here the set begins below LEO.",
        "OffsetOutOfRangeException": "That is for readers.",
    },
    "leader-recompresses-gzip": {
        True: "The leader compares the codec, not its level. The batch stays.",
    },
    "roll-an-hour-later": {
        True: "The records' timestamps count, not the clock: this one is as old as the segment's first batch.",
    },
    "time-index-entries": {
        4: "The time index takes only a timestamp that is later than its last entry.",
        5: "The first batch is due for no entry, and earlier timestamps add none.",
        3: "Minute 2 is not after minute 3, which the index has already.",
    },
    "recovery-point-after-appends": {
        5: "A flush comes after a whole append, and takes all six records.",
        7: "After the flush at 6 one record has come. The next flush waits for five.",
        0: "After the third append six records were not flushed, and five are enough.",
    },
    "segments-after-refused-append": {
        1: "The roll of step 8 came before the refusal of step 9, and is not undone.",
    },
    "recovery-points-differ-after": {
        4: "There both flush. The append that makes exactly 5 records tells them apart.",
        3: "The sound log flushed one operation before, at the fifth record.",
        1: "Four records are too few for both.",
    },
    "recovery-point-contradicted-by": {
        2: "Spark has no rule for flushing and says nothing about it.",
    },
}
