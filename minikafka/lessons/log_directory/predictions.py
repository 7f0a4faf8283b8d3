"""Wrong answers to the predictions of *A log directory at scale*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "bank-sum": {
        "all": "Some transactions were aborted, and their records stay in the log.",
        "read_committed": "A read_committed reader stops at the first open transaction, and misses what was committed after that one began.",
    },
    "segments-query-reads": {
        1: "The segment that begins at 59 reaches to 113. The query also asks for offsets from 114 on.",
        3: "Files are named by their first offsets: the segment at 56 ends where the next one begins, at 59.",
        5: "File names are enough to leave some out: a segment ends where the next one begins.",
    },
    "bytes-query-reads": {
        2965: "The offset index leads to a batch at or before offset 100. Bytes before it are not read.",
        2095: "Reading begins there and goes on to the end of the segment: subtract.",
        1952: "The first entry would do, but the second is nearer, and its batch, too, begins at or before offset 100.",
    },
    "segments-before-22": {
        1: "Late records may be anywhere: the second segment has six of them.",
        2: "No index tells that the third has none: it notes the largest timestamps, not the smallest.",
    },
    "segments-from-07": {
        2: "The largest timestamp of the second segment is 06:48, so it has none of these.",
        3: "The largest timestamps of two segments are too small.",
    },
    "payments-transaction-hides": {
        3: "Those are its own, not committed. It hides what came after it.",
        42: "That also counts aborted and open payments: 90 less 48.",
        51: "Those are offsets. Markers take some, and some records were aborted or are open.",
    },
    "source-differs-after": {
        4: "The segment's last batch has the record of second 9: its largest timestamp is late enough.",
        10: "Before that, the first segment already ended with an older batch.",
        14: "The third segment has only old records: it is rightly left out.",
    },
    "since-then-contradicted-by": {
        1: "Spark knows the records from the lines, and Kafka from its log. Both find the missing one.",
    },
}
