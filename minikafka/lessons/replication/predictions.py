"""Wrong answers to the predictions of *Replication and leader epochs*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "consumed-after-two-failures": {
        2: "Broker 2 had b, and has cut it off: when it became a follower of broker 1, its own mark said that only a was safe.",
        0: "a lies below every broker's high watermark. Nobody cuts it off.",
    },
    "rounds-until-answer": {
        1: (
            "After one round the followers have the records, and the leader does not know it: it learns that from the"
            " offsets of their next fetches."
        ),
        3: "That is when the followers learn of the mark. The leader knew a round before, and answered.",
    },
    "follower-mark-that-round": {
        3: (
            "The leader reads before it takes note of the fetch, so the answer has the mark from before. The follower"
            " hears of the new one in the next answer."
        ),
    },
    "records-new-leader-gives": {
        5: (
            "It has all five, but as a follower it had heard of a mark of 4 only, and believes that until its own"
            " followers have fetched."
        ),
        0: "It keeps the mark that it had as a follower. Nothing falls back to the beginning.",
    },
    "second-broker-leaves-isr": {
        30: "At second 30 it was caught up exactly 30 seconds ago. It must be more than that.",
        31: "From then on it is too late. But the leader looks every 15 seconds, and not in between.",
        60: "The leader looks every 15 seconds, and at second 45 it was too late already.",
    },
    "producer-a-was-told": {
        "NONE": "The mark waited for broker 2 until it had left. The producer's patience ended before that.",
        "NOT_ENOUGH_REPLICAS": "That is told before anything is appended, when the ISR is too small. It had three members.",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "The ISR was never too small: two are enough here.",
    },
    "isr-after-ten-minutes": {
        1: "Who stands at the leader's end is not behind, however long it is silent.",
    },
    "mark-of-lone-leader": {
        2: "So it would be if one replica were enough. Below min.insync.replicas the mark stands still.",
        3: "Only c was appended, b was refused. And below min.insync.replicas the mark stands still.",
    },
    "e-acknowledged-at-once": {
        True: "Broker 1 is not in the ISR, but it was caught up a moment ago and is about to join: the mark waits for it.",
    },
    "broker-0-cuts-at": {
        2: "At the leader epoch 0 ends at 1. What broker 0 has of epoch 0 from there on, nobody else has.",
        0: "Up to where epoch 0 ends at the leader both have the same records of it. Those stay.",
    },
    "value-at-offset-1": {
        "c": "Its own high watermark was 2, and nothing above that was there to be cut. It never asked for offset 1.",
    },
    "unknown-epoch-cuts-at": {
        11: "Then it would keep x, which it wrote in epoch 3. Its leader has never had an epoch 3.",
        12: "That is where epoch 1 ends at the leader. Broker 0 never had an epoch 1, and its log ends below that.",
    },
    "replication-differs-after": {
        9: "The mark moves there. But after operation 8 the leader believes already that broker 1 has three records.",
        11: "That is where the mark moves without the bug. With it, all is a round earlier.",
        7: "An append alone tells the leader nothing of its followers.",
    },
    "first-producer-answered-after": {
        8: "Broker 2 is in the ISR as well, and fetches with operation 9.",
        7: "Nobody has fetched by then, and what is not sent does not count even now.",
        11: "The leader no longer waits for the second fetch of each follower.",
    },
}
