"""Wrong answers to the predictions of *The produce path*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "consumed-after-hasty-answer": {
        2: "Nobody has fetched b: it was on broker 0 alone, and an answer moves no record.",
        0: "All three brokers have a. Only what was on broker 0 alone is gone.",
    },
    "classes-request-reaches": {
        2: "ReplicaManager is called only when something is left to be appended. KafkaApis knows from the metadata.",
        3: "No Partition is asked: KafkaApis knows from the metadata which partitions there are.",
        6: "Nothing is appended: KafkaApis knows from the metadata that there is no such partition.",
    },
    "records-in-orders-1": {
        0: "The minimum is for those who ask for it, with acks=all. The others are not refused.",
        1: "acks 0 and acks 1 differ in the answer, not in what is written.",
        3: "With acks=all a partition takes nothing while fewer than the minimum are in sync.",
    },
    "second-request-answer": {
        "nothing": "So it is for success. A failure must be shown somehow, and without a response there is only one way.",
        "an error": "With acks=0 the client expects no response, so there is no place for an error.",
    },
    "request-answered-now": {
        1: "One of its partitions is replicated, the other one is not. One response speaks for both.",
        2: "It waits for a mark of 3 in orders-0: the follower has shown that it has offsets 0 and 1, no more.",
        "both": "Request 1 still waits for orders-1, and request 2 for a mark of 3 in orders-0.",
    },
    "records-in-orders-0": {
        1: "The time-out takes nothing back: the first a is in the log, and the log does not know that both are one.",
    },
    "error-in-answer": {
        "NONE": "Below the minimum the high watermark stands still, so the record never counts as replicated in time.",
        "NOT_ENOUGH_REPLICAS": "That is told before anything is appended. This record is in the log.",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND": (
            "For that the mark would have to reach the required offset. Below the minimum it stands still: the timer is"
            " the only way out."
        ),
    },
    "which-were-appended": {
        "p q r": "One key, one place in the map: what comes later takes the place of what was there.",
        "p q": "What comes later under the same key takes the place of what was there.",
    },
    "produce-differs-after": {
        5: "There the mark is at 0, and the wrong required offset is 2: the request waits, as it should.",
        7: "The mark goes from 0 to 3 in one leap, over 2 and 3: the request is answered when it should be.",
        10: "That is a fetch. The request that is answered too early had its mark when it came.",
    },
    "acknowledged-contradicted-by": {
        1: "Spark knows from the lines that nobody has fetched the record yet, and Kafka has its own high watermark.",
    },
}
