"""Wrong answers to the predictions of *The produce purgatory*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "told-at-the-deadline": {
        "NONE": "The timer looks at no high watermark, and the broker had noted no success before.",
        "NOT_ENOUGH_REPLICAS": "Both replicas are in sync, and the record is in the log.",
        "NOT_LEADER_OR_FOLLOWER": "Broker 0 leads all the time.",
    },
    "request-answered-now": {
        1: "Only one of its partitions is replicated. One response speaks for both.",
        2: "It needs a high watermark of 3 in orders-0. The follower has shown that it has offsets 0 and 1.",
        "both": "Request 1 still waits for orders-1, and request 2 for a high watermark of 3 in orders-0.",
    },
    "mark-after-follower-left": {
        0: "The mark waits for the members of the ISR alone. Broker 2 is none any more; brokers 0 and 1 have the record.",
        2: "The mark is an offset: a is the only record, and the offset after it is 1.",
    },
    "records-in-orders-0": {
        1: "The time-out removes nothing, and nothing marks the second a as the same.",
    },
    "error-in-answer": {
        "NONE": "Below the minimum the high watermark stands still, so the record is not acknowledged in time.",
        "NOT_ENOUGH_REPLICAS": "That error comes before the append. This record is in the log.",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND": (
            "For that the high watermark must reach the required offset. Below the minimum it stands still."
        ),
    },
    "produce-differs-after": {
        5: "The high watermark is 0, the wrong required offset 2: the request waits.",
        7: "The high watermark goes from 0 to 3 in one step: the request is answered at the right time.",
        10: "That is a fetch. The wrong answer came with the request itself.",
    },
    "acknowledged-contradicted-by": {
        1: "Spark knows that nobody has fetched the record. Kafka has its own high watermark.",
    },
}
