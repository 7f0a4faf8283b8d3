"""Wrong answers to the predictions of *A log directory at scale*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "bank-sum": {
        "all": "Some transactions were aborted, and their records stay in the log.",
        "read_committed": "A read_committed reader stops at the first open transaction, and misses what was committed behind it.",
    },
    "segments-query-reads": {
        1: "The segment that begins at 59 reaches to 113. The query also asks for those from 114 on.",
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
    "bytes-growth-factor": {
        3: "There are three times as many records, and each also takes more room: look at the codec.",
        2: "That is the effect of the codec. There are also three times as many records.",
    },
    "payments-transaction-hides": {
        3: "Those are its own, not committed. It hides what came after it.",
        42: "That counts what was aborted and the open ones, too: 90 less 48.",
        51: "Those are offsets. Markers take some, and some records were aborted or are open.",
    },
    "group-behind-longest": {
        "dashboard": "It has most records to read, but its first one is from 03:20.",
        "billing": "It has stood still since 01:40. Another has stood still for longer.",
        "warehouse": "It has read everything.",
    },
    "records-left-after-round": {
        8: "There are 8 keys in the first segment. But the active one is not cleaned: all its records stay.",
        6: "Tombstones stay in the first round that sees them, and the active segment is not cleaned.",
        18: "Those are the records of the active segment. Of the first one, the newest of each key stay as well.",
    },
    "verify-on-forged-copy": {
        True: "The checksum fits, too. One copy cannot tell that its bytes differ from the leader's.",
    },
    "clicks-missing": {
        1: "One checksum covers all records of the batch. It does not tell which one is damaged.",
        220: "A broker would lose that many: it cuts the segment there. A query goes on with the next batch.",
        430: "The query goes on behind the damage: the batch says how long it is.",
    },
    "restored-directory-same-records": {
        False: "Batches are new, but a consumer gets the records of the table.",
    },
    "source-differs-after": {
        4: "The segment's last batch has the record of second 9: its largest timestamp is late enough.",
        10: "The first segment's last batch was already an older one before that.",
        14: "The third segment is old and is rightly left out.",
    },
    "since-then-contradicted-by": {
        1: "Spark knows the records from the lines, and Kafka from its log. Both find the missing one.",
    },
}
