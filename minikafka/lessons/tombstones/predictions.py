"""Wrong answers to the predictions of *Tombstones and markers*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "slow-consumer-value-a": {
        None: "From offset 2 on no record of a is left: the tombstone is gone.",
    },
    "hours-until-tombstone-goes": {
        1: "The clock starts at the first cleaning, at hour two: plus one.",
        2: "The first cleaning keeps it, and sets the horizon: an hour from then.",
        0: "Then a consumer that reads a moment later would miss the deletion.",
    },
    "batches-after-one-turn": {
        1: "Each producer's last sequence number must stay, and with it the marker of its transaction.",
        3: "The markers stay. So do the headers with the producers' last sequence numbers.",
        4: "Both producers' batches stay as headers, the aborted one as well.",
        6: "The first batch has no producer and no records left: it goes.",
    },
    "turn-removes-marker": {
        1: "Its transaction still has a header.",
        2: "That turn removes the header. The marker has no horizon yet.",
        3: "Nothing of the transaction is left, so the marker gets a horizon: an hour from then.",
        5: "Its horizon is an hour after the third turn.",
    },
    "compaction-differs-after": {
        9: "The cleaning before, operation 8, has already counted what it kept.",
        2: "That writes the record. The bug is in the cleaning.",
        14: "The second cleaning finds the row gone already.",
    },
    "compaction-contradicted-by": {
        1: "Spark knows from the workload which records survive, and Kafka has cleaned its own log.",
    },
}
