"""Wrong answers to the predictions of *Append*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "read-offset-3": {
        "the records 3 4 5": "In the file both batches begin at offset 0. Nobody gave the second one other offsets.",
        "the records 0 1 2": "A read looks for an offset of 3 or more, and both batches end at 2.",
    },
    "append-last-offset": {
        13: "13 is LEO afterwards. last_offset is inclusive: the offset of the last record that was written.",
        2: "That is what the producer wrote into its batch. The leader has given new offsets in step 5.",
        10: "10 is the first of the three.",
    },
    "follower-end-after-copy": {
        13: "The batch of epoch 1 comes from another leader than the one that was asked: it is skipped.",
        0: "Only what is of a later epoch is skipped. The batches before it are good.",
        "UnexpectedAppendOffsetException": (
            "That is for offsets below LEO. A batch of a later epoch is skipped without a word."
        ),
    },
    "follower-end-after-overlap": {
        23: "Offset 21 is below its log end, 22. What it has already it does not take twice, and nothing behind it either.",
        22: "It stays at 22, and its caller is told by an exception.",
        "OffsetsOutOfOrderException": "That is for batches of one set, among themselves. Here the set begins below LEO.",
        "OffsetOutOfRangeException": "That is for readers. This is a follower that is sent what it has.",
    },
    "leader-recompresses-gzip": {
        True: "What is compared is the codec, not its level. The batch stays as it came.",
    },
    "roll-an-hour-later": {
        True: "The records' timestamps count, not the clock: this one is as old as the segment's first batch.",
    },
    "time-index-entries": {
        4: "The time index takes only what is later than its last entry. Timestamps that go back add nothing.",
        5: "The first batch is due for no entry, and timestamps that go back add none.",
        3: "Minute 2 comes after minute 1, but not after minute 3, which the index has already.",
    },
    "recovery-point-after-appends": {
        5: "A flush comes after a whole append, and takes all that is written: six records.",
        7: "After the flush at 6 one record has come. The next flush waits for five.",
        0: "After the third append six records were not flushed, and five are enough.",
    },
    "segments-after-refused-append": {
        1: "The roll of step 8 came before the refusal of step 9, and nobody takes it back.",
    },
    "recovery-points-differ-after": {
        4: "There both flush. It is the append that makes exactly 5 records that tells them apart.",
        3: "By then the sound log has flushed already: the fifth record came one operation before.",
        1: "Four records are there, too few for both.",
    },
    "recovery-point-contradicted-by": {
        2: "Spark has no rule for flushing and says nothing about it. Its silence is no agreement, and no contradiction.",
    },
}
