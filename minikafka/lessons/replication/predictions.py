"""Wrong answers to the predictions of *Replication*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "consumed-after-joining-early": {
        3: "Broker 1 has fetched only a.",
        0: "Alone in the ISR, broker 1 takes all that it has for committed.",
    },
    "rounds-until-answer": {
        1: "After one round the followers have the records. The leader learns that from their next fetches.",
        3: "Then the followers learn of the mark. The leader knew a round before, and answered.",
    },
    "follower-mark-that-round": {
        3: "The leader reads before it notes the fetch. So the answer has the old mark; the next one has the new mark.",
    },
    "second-broker-leaves-isr": {
        30: "At second 30 it was caught up exactly 30 seconds ago. It leaves after more than that.",
        31: "By then broker 2 is behind for too long, but the leader checks only every 15 seconds.",
        60: "The leader checks at second 45, and broker 2 is behind for too long by then.",
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
    "replication-differs-after": {
        9: "The mark moves there. But after operation 8 the leader already believes that broker 1 has three records.",
        11: "There the mark moves without the bug. With it, everything is a round earlier.",
        7: "An append alone tells the leader nothing about its followers.",
    },
    "first-producer-answered-after": {
        8: "Broker 2 is in the ISR as well, and fetches with operation 9.",
        7: "No follower has fetched yet. What is not sent does not count, even with this bug.",
        11: "With this bug the leader does not wait for each follower's second fetch.",
    },
}
