"""Wrong answers to the predictions of *Append*, by question, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "The last_offset of the answer, for a batch of three on a log that ends at 10?": {
        13: "13 is LEO afterwards. last_offset is inclusive: the offset of the last record that was written.",
        2: "That is what the producer wrote into its batch. The leader has given new offsets in step 5.",
        10: "10 is the first of the three.",
    },
    "Where does the follower end after append_as_follower(fetched(leader), leader_epoch=0)?": {
        13: "The batch of epoch 1 comes from another leader than the one that was asked: it is skipped.",
        0: "Only what is of a later epoch is skipped. The batches before it are good.",
        "UnexpectedAppendOffsetException": (
            "That is for offsets below LEO. A batch of a later epoch is skipped without a word."
        ),
    },
    "How many segments has the log after the refused append?": {
        1: "The roll of step 8 came before the refusal of step 9, and nobody takes it back.",
    },
    "Where does the follower end after offsets 21 and 22, of which it has the first? (a number, or the name of an exception)": {
        23: "Offset 21 is below its log end, 22. What it has already it does not take twice, and nothing behind it either.",
        22: "It stays at 22, and its caller is told by an exception.",
        "OffsetsOutOfOrderException": "That is for batches of one set, among themselves. Here the set begins below LEO.",
        "OffsetOutOfRangeException": "That is for readers. This is a follower that is sent what it has.",
    },
    "The topic wants gzip at level 9 and gets gzip at another level. Does the leader compress the batch again? (True or False)": {
        True: "What is compared is the codec, not its level. The batch stays as it came.",
    },
    "segment.ms is 1000. Does the segment roll when the append comes an hour later, with a record of noon? (True or False)": {
        True: "The records' timestamps count, not the clock: this one is as old as the segment's first batch.",
    },
    "How many entries has the time index?": {
        4: "The time index takes only what is later than its last entry. Timestamps that go back add nothing.",
        5: "The first batch is due for no entry, and timestamps that go back add none.",
        3: "Minute 2 comes after minute 1, but not after minute 3, which the index has already.",
    },
    "flush.messages=5. The recovery point after the appends of 2, 2, 2 and 1 records?": {
        5: "A flush comes after a whole append, and takes all that is written: six records.",
        7: "After the flush at 6 one record has come. The next flush waits for five.",
        0: "After the third append six records were not flushed, and five are enough.",
    },
    "After which operation do the recovery points differ first?": {
        4: "There both flush. It is the append that makes exactly 5 records that tells them apart.",
        3: "By then the sound log has flushed already: the fifth record came one operation before.",
        1: "Four records are there, too few for both.",
    },
    "About the recovery point after that operation, how many witnesses contradict minikafka? (1 or 2)": {
        2: "Spark has no rule for flushing and says nothing about it. Its silence is no agreement, and no contradiction.",
    },
}
