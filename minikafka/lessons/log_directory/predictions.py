"""Wrong answers to the predictions of *A log directory at scale*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "bank-sum": {
        "all": "Some of these payments were taken back: their transactions were aborted, and the records stay in the log.",
        "read_committed": "So one would think. But a read_committed reader stops at the first transaction that is open, "
        "and misses what was committed behind it.",
    },
    "segments-query-reads": {
        1: "The segment that begins at 59 reaches to 113. The one from 114 on is wanted as well.",
        3: "Files are named by their first offsets: the segment at 56 ends where the next one begins, at 59.",
        5: "Names of files are enough to leave some out: a segment ends where the next one begins.",
    },
    "bytes-query-reads": {
        2965: "The offset index leads to a batch that is not behind offset 100. What lies before it is not read.",
        2095: "That is where the reading begins. It goes on to the end of the segment: subtract.",
        1952: "The first entry would do, but the second one leads nearer, and its batch is not behind offset 100 either.",
    },
    "segments-before-22": {
        1: "Late records may be anywhere: the second segment has six of them.",
        2: "Nothing says that the third one has none. Indexes note the largest timestamps, not the smallest.",
    },
    "segments-from-07": {
        2: "The largest timestamp of the second segment is 06:48, so it holds nothing that is asked for.",
        3: "The largest timestamps of two segments are too small. They are left out unread.",
    },
    "bytes-growth-factor": {
        3: "Three times as many records, and each takes more room as well: look at the codec.",
        2: "That is what the codec does to a record. There are three times as many records, too.",
    },
    "payments-transaction-hides": {
        3: "Those are its own, and they were not committed. It hides what came after it.",
        42: "That counts what was aborted and the open ones, too: 90 less 48.",
        51: "Those are offsets. Markers take some, and some records were aborted or are open.",
    },
    "group-behind-longest": {
        "dashboard": "It has most records to read, but clicks come fast: its first one is from 03:20.",
        "billing": "It has stood still since 01:40. There is one that stands still for longer.",
        "warehouse": "It has read everything.",
    },
    "records-left-after-round": {
        8: "There are 8 keys in the first segment. But the active one is not cleaned: all its records stay.",
        6: "Tombstones stay in the first round that sees them, and the active segment is not cleaned.",
        18: "Those are the records of the active segment. Of the first one, the newest of each key stay as well.",
    },
    "verify-on-forged-copy": {
        True: "Everything fits together, the checksum, too. That the bytes are others than the leader's, one copy can't tell.",
    },
    "clicks-missing": {
        1: "The checksum is the batch's. Which record is damaged, it does not tell.",
        220: "That many a broker would lose, which cuts the segment there. A query goes on with the next batch.",
        430: "The segment goes on behind the damage: the batch says how long it is.",
    },
    "restored-directory-same-records": {
        False: "Batches are made anew, but what a consumer gets of them is what was in the table.",
    },
    "source-differs-after": {
        4: "The last batch of the segment has the record of second 9 in it: its largest timestamp is late enough.",
        10: "By then there is a second segment. In the first one, an older batch came last much sooner.",
        14: "A third segment that is old is left out rightly.",
    },
    "since-then-contradicted-by": {
        1: "Spark knows from the lines which records are young, and Kafka has its log. Both find the one that is missing.",
    },
}
