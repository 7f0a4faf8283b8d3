"""Wrong answers to the predictions of *Replication and leader epochs*, by question, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "After how many rounds is the producer answered?": {
        1: (
            "After one round the followers have the records, and the leader does not know it: it learns that from the"
            " offsets of their next fetches."
        ),
        3: "That is when the followers learn of the mark. The leader knew a round before, and answered.",
    },
    "And after that same round: the high watermark of follower 1?": {
        3: (
            "The leader reads before it takes note of the fetch, so the answer has the mark from before. The follower"
            " hears of the new one in the next answer."
        ),
    },
    "How many of the five records does the consumer get from the new leader at once?": {
        5: (
            "It has all five, but as a follower it had heard of a mark of 4 only, and believes that until its own"
            " followers have fetched."
        ),
        0: "It keeps the mark that it had as a follower. Nothing falls back to the beginning.",
    },
    "At which second does broker 2 leave the ISR?": {
        30: "At second 30 it was caught up exactly 30 seconds ago. It must be more than that.",
        31: "From then on it is too late. But the leader looks every 15 seconds, and not in between.",
        60: "The leader looks every 15 seconds, and at second 45 it was too late already.",
    },
    "What was the producer of a told? ('NONE' or the name of an error)": {
        "NONE": "The mark waited for broker 2 until it had left. The producer's patience ended before that.",
        "NOT_ENOUGH_REPLICAS": "That is told before anything is appended, when the ISR is too small. It had three members.",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "The ISR was never too small: two are enough here.",
    },
    "How many brokers are in the ISR after those ten minutes?": {
        1: "Who stands at the leader's end is not behind, however long it is silent.",
    },
    "The leader is alone in the ISR. Where is its high watermark?": {
        2: "So it would be if one replica were enough. Below min.insync.replicas the mark stands still.",
        3: "Only c was appended, b was refused. And below min.insync.replicas the mark stands still.",
    },
    "The ISR is broker 0 alone, as before. Is e acknowledged at once, as d was? (True or False)": {
        True: "Broker 1 is not in the ISR, but it was caught up a moment ago and is about to join: the mark waits for it.",
    },
    "At which offset does broker 0 cut its log? (2 for: nothing is cut)": {
        2: "At the leader epoch 0 ends at 1. What broker 0 has of epoch 0 from there on, nobody else has.",
        0: "Up to where epoch 0 ends at the leader both have the same records of it. Those stay.",
    },
    "Which value has broker 0 at offset 1, after d has come? ('b' or 'c')": {
        "c": "Its own high watermark was 2, and nothing above that was there to be cut. It never asked for offset 1.",
    },
    "At which offset does broker 0 cut?": {
        11: "Then it would keep x, which it wrote in epoch 3. Its leader has never had an epoch 3.",
        12: "That is where epoch 1 ends at the leader. Broker 0 never had an epoch 1, and its log ends below that.",
    },
    "After which operation do minikafka's brokers with this bug differ first from another witness?": {
        9: "The mark moves there. But after operation 8 the leader believes already that broker 1 has three records.",
        11: "That is where the mark moves without the bug. With it, all is a round earlier.",
        7: "An append alone tells the leader nothing of its followers.",
    },
    "And after which operation is the first producer answered? (Without the bug it is 11.)": {
        8: "Broker 2 is in the ISR as well, and fetches with operation 9.",
        7: "Nobody has fetched by then, and what is not sent does not count even now.",
        11: "The leader no longer waits for the second fetch of each follower.",
    },
}
