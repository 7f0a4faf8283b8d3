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
    "fetches-until-told": {
        0: "In sync means that broker 1 keeps up. Nobody has told the leader that broker 1 has these records.",
        1: "The first fetch brings broker 1 the records. The leader does not know yet that they have arrived.",
        3: "The offset of the second fetch tells the leader that all before it has arrived.",
    },
    "records-in-orders-1": {
        0: "The minimum is only for acks=all. The others are not refused.",
        1: "acks 0 and acks 1 differ in the answer, not in what is written.",
        3: "With acks=all a partition takes nothing while fewer than the minimum are in sync.",
    },
    "second-request-answer": {
        "nothing": "That is for success. After a failure the broker closes the connection.",
        "an error": "With acks=0 the client expects no response, so no error can be sent.",
    },
    "which-were-appended": {
        "p q r": "Partitions are kept in a map: the later entry replaces the earlier one.",
        "p q": "The later entry under the same key replaces the earlier one.",
    },
    "late-minimum-differs-after": {
        5: "Both replicas are in sync: the minimum is met, before the append and after it.",
        12: "acks=1 asks for no minimum, so it makes no difference when the minimum is checked.",
        18: "The ISR is complete again. The damage was done while it was not.",
    },
    "quantity-that-differs": {
        "answers": "The check comes later, but it still refuses, with the same error.",
        "both": "The producer is told the same error as without the bug.",
    },
}
