"""Wrong answers to the predictions of *Leader epochs*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "consumed-after-two-failures": {
        2: "Broker 2 had b, and cut it off when it began to follow broker 1.",
        0: "a is below every broker's high watermark, so no broker cuts it.",
    },
    "records-new-leader-gives": {
        5: "It has all five, but as a follower it was told of a mark of 4. That stays until its followers have fetched.",
        0: "It keeps the mark that it had as a follower.",
    },
    "broker-0-cuts-at": {
        2: "On the leader, epoch 0 ends at 1. Only broker 0 has a record of epoch 0 from there on.",
        0: "Below the end of epoch 0 on the leader, both have the same records. Those stay.",
    },
    "value-at-offset-1": {
        "c": "Its own high watermark was 2, and its log ended there. It never asked for offset 1.",
    },
    "unknown-epoch-cuts-at": {
        11: "Then it would keep x of epoch 3. Its leader has never had an epoch 3.",
        12: "Epoch 1 ends there on the leader. Broker 0 never had an epoch 1, and its log ends below that.",
    },
    "kip-101-differs-after": {
        22: "The bug changes a leader's answer, and no follower has asked yet.",
        23: "Broker 0 starts from its own files. It asks its leader with its first fetch.",
        25: "There Kafka's broker 0 gets the records. It had cut its log one fetch before.",
    },
}
