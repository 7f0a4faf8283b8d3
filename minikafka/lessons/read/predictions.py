"""Wrong answers to the predictions of *Read isolation*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "bobs-sum-without-isolation": {
        40: "Only 40 is committed. This reader gets the records of every transaction.",
        130: "The −10 is in the log, too, below the high watermark.",
        30: "Nothing tells this reader that the 90 were aborted.",
    },
    "follower-answer-last-offset": {
        16: "An answer comes from one segment, here 0. The follower asks again for the rest.",
        14: "HW is a consumer's bound. A follower's is LEO.",
        10: "LSO is the bound of `read_committed`. A follower's is LEO.",
    },
    "transaction-indexes-asked": {
        1: "The records are in segment 0, but the marker that aborts them may be in any later segment.",
        3: "The entry in segment 5 already ends the search.",
        4: "The entry in segment 5 ends the search.",
    },
    "deleted-record-still-sent": {
        False: "A read at 6 begins with the batch that holds 6, and that one begins at 5. The consumer drops it.",
    },
    "aborted-list-missed-after": {
        4: "Both transactions are still open, above the bound: no list is needed.",
        5: "The marker is written correctly. The fault is in a later read.",
        14: "That read shows it, too, but a consumer has read before that.",
    },
    "consumer-view-contradicted-by": {
        1: "Both know that producer 7 aborted: Spark by its rule, Kafka by its log.",
    },
}
