"""Wrong answers to the predictions of *Replication and leader epochs*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "consumed-after-two-failures": {
        2: "Broker 2 had b and cut it off: when it began to follow broker 1, its own mark covered only a.",
        0: "a is below every broker's high watermark, so no broker cuts it.",
    },
    "rounds-until-answer": {
        1: "After one round the followers have the records. The leader learns that only from their next fetches.",
        3: "Then the followers learn of the mark. The leader knew a round before, and answered.",
    },
    "follower-mark-that-round": {
        3: "The leader reads before it notes the fetch. So the answer has the old mark; the next one has the new mark.",
    },
    "records-new-leader-gives": {
        5: "It has all five, but as a follower it was told of a mark of 4. That stays until its followers have fetched.",
        0: "It keeps the mark that it had as a follower.",
    },
    "second-broker-leaves-isr": {
        30: "At second 30 it was caught up exactly 30 seconds ago. It must be more than that.",
        31: "From then on it is too late. But the leader checks only every 15 seconds.",
        60: "The leader checks every 15 seconds, and at second 45 it was already too late.",
    },
    "producer-a-was-told": {
        "NONE": "The mark waited for broker 2 until it left the ISR. The producer's time was over before that.",
        "NOT_ENOUGH_REPLICAS": "That comes before the append, when the ISR is too small. It had three members.",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "The ISR was never too small: two are enough here.",
    },
    "isr-after-ten-minutes": {
        1: "A follower at the leader's end is not behind, however long it is silent.",
    },
    "mark-of-lone-leader": {
        2: "That would be so if one replica were enough. Below min.insync.replicas the mark stands still.",
        3: "Only c was appended, b was refused. And below min.insync.replicas the mark stands still.",
    },
    "e-acknowledged-at-once": {
        True: "Broker 1 was caught up a moment ago and is about to join the ISR. The mark waits for it.",
    },
    "broker-0-cuts-at": {
        2: "At the leader epoch 0 ends at 1. Only broker 0 has a record of epoch 0 from there on.",
        0: "Below the end of epoch 0 at the leader, both have the same records. Those stay.",
    },
    "value-at-offset-1": {
        "c": "Its own high watermark was 2, and nothing was above that. It never asked for offset 1.",
    },
    "unknown-epoch-cuts-at": {
        11: "Then it would keep x of epoch 3. Its leader has never had an epoch 3.",
        12: "Epoch 1 ends there at the leader. Broker 0 never had an epoch 1, and its log ends below that.",
    },
    "replication-differs-after": {
        9: "The mark moves there. But after operation 8 the leader already believes that broker 1 has three records.",
        11: "There the mark moves without the bug. With it, everything is a round earlier.",
        7: "An append alone tells the leader nothing about its followers.",
    },
    "first-producer-answered-after": {
        8: "Broker 2 is in the ISR as well, and fetches with operation 9.",
        7: "No follower has fetched yet. What is not sent does not count, even now.",
        11: "The leader no longer waits for the second fetch of each follower.",
    },
}
