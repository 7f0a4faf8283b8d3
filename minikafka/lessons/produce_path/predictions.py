"""Wrong answers to the predictions of *The produce path*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "consumed-after-hasty-answer": {
        2: "Nobody had fetched b: it was on broker 0 alone.",
        0: "All three brokers have a.",
    },
    "classes-request-reaches": {
        2: "KafkaApis calls ReplicaManager only if something is left to append.",
        3: "KafkaApis knows the partitions from the metadata. It asks no Partition.",
        6: "Nothing is appended: KafkaApis knows from the metadata that the partition does not exist.",
    },
    "records-in-orders-1": {
        0: "The minimum is only for acks=all. The others are not refused.",
        1: "acks 0 and acks 1 differ in the answer, not in what is written.",
        3: "With acks=all a partition takes nothing while fewer than the minimum are in sync.",
    },
    "second-request-answer": {
        "nothing": "That is for success. The broker must show a failure somehow.",
        "an error": "With acks=0 the client expects no response, so no error can be sent.",
    },
    "request-answered-now": {
        1: "Only one of its partitions is replicated. One response speaks for both.",
        2: "It needs a high watermark of 3 in orders-0. The follower has shown that it has offsets 0 and 1.",
        "both": "Request 1 still waits for orders-1, and request 2 for a high watermark of 3 in orders-0.",
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
    "which-were-appended": {
        "p q r": "Partitions are kept in a map: the later entry replaces the earlier one.",
        "p q": "The later entry under the same key replaces the earlier one.",
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
