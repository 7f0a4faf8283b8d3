"""Wrong answers to the predictions of *Loading*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "records-after-careless-load": {
        28: "The first four segments have no .log file, so this load ignores them.",
        24: "The four old segments are called .deleted. This load ignores the new ones, too.",
    },
    "leftovers-taken-away": {
        1: "The .deleted file goes. So do the index without its .log and the stray snapshot.",
        2: "Phase 4 deletes the orphaned index, and phase 7 the stray snapshot.",
        4: "Kafka knows no .min.opt. The load leaves names that it does not know.",
        5: "The load leaves names that it does not know.",
    },
    "load-undoes-or-completes": {
        "completes": "A .cleaned file is left. Renaming goes from the highest offset down, so it was not finished.",
    },
    "empty-file-log-end": {
        0: "The next record gets the offset in the file's name.",
        5: "5 was the last record. The log end is the next offset.",
    },
    "recovery-point-clean-stop": {
        24: "A clean stop flushes everything.",
        0: "A clean stop flushes everything, whatever the checkpoint says.",
        89: "89 is the last record. The recovery point is the first offset not known to be flushed.",
    },
    "epoch-entries-after-load": {
        3: "An entry that begins at the log end goes, too: no record was written in that epoch.",
        4: "Entries at or above the log end go: the log has no records of them.",
        1: "Epoch 1 has records from 50 to 89.",
    },
    "producers-known-after-load": {
        3: "Reading all batches would find three. Here the load reads nothing.",
        2: "The newest snapshot named two, but it is gone.",
    },
    "log-end-after-reopen": {
        8: "The sound log ends there. The sick one ends at its last index entry.",
        5: "5 is the last offset that the entry names. The end is one more.",
        4: "4 is the first offset of that batch. The entry has the last one.",
    },
    "reopen-contradicted-by": {
        2: "Spark has no rule for recovery points, so it says nothing.",
    },
}
