"""Wrong answers to the predictions of *An audit of a log directory*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "group-behind-longest": {
        "dashboard": "It has most records to read, but its first one is from 03:20.",
        "billing": "It has stood still since 01:40. Another has stood still for longer.",
        "warehouse": "It has read everything.",
    },
    "bytes-growth-factor": {
        3: "There are three times as many records, and each also takes more room: look at the codec.",
        2: "That is the effect of the codec. There are also three times as many records.",
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
        430: "The query goes on after the damage: the batch says how long it is.",
    },
    "restored-directory-same-records": {
        False: "Batches are new, but a consumer gets the records of the table.",
    },
    "lag-job-differs-after": {
        2: "Offsets 3 and 4 are records, and the group has had them.",
        3: "The marker is in the log now, but above the high watermark: no reader gets there.",
        9: "It differs before that: after operation 5 the job takes the marker for the first unread record.",
    },
    "lag-agrees-with-bug": {
        False: "LAG is the difference of two offsets. Whether a record or a marker stands between them, it is the same.",
    },
}
