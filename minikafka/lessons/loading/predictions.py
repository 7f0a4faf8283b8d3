"""Wrong answers to the predictions of *Loading*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "records-after-careless-load": {
        28: "The first four segments have no file that ends in .log any more, so this load passes over them.",
        24: "The four old segments are called .deleted. A load that renames nothing leaves the new ones alone, too.",
    },
    "leftovers-taken-away": {
        1: "The .deleted file is the only one with a suffix for it. An index without its .log and a stray snapshot go, too.",
        2: "Two and one more: phase 4 deletes the orphaned index, and phase 7 the stray snapshot.",
        4: "Kafka knows no .min.opt. What has a name that the loader does not know stays where it is.",
        5: "The loader takes away what it knows. .min.opt and notes.txt are nothing to it.",
    },
    "load-undoes-or-completes": {
        "completes": (
            "A .cleaned file is left. Whoever renames goes from the highest offset down, so the lowest ones tell"
            " whether it was done."
        ),
    },
    "empty-file-log-end": {
        0: "No record is left, but the name holds the offset at which the segment begins: the next record gets that one.",
        5: "5 was the last record. The log end is the offset of the next one.",
    },
    "recovery-point-clean-stop": {
        24: "So it would be after an unclean stop. A clean one flushed everything before it ended.",
        0: "The checkpoint says more, and after a clean stop even the checkpoint is not needed.",
        89: "89 is the last record. The recovery point is the first offset that is not known to be flushed: one more.",
    },
    "epoch-entries-after-load": {
        3: "An entry that begins at the log end goes, too: no record was written in that epoch.",
        4: "What the log does not have, its epochs must not have either: entries at or above the log end go.",
        1: "Only entries at or above the log end go. Epoch 1 begins at 50, and has records up to 89.",
    },
    "producers-known-after-load": {
        3: "That is what reading all batches would find. After a clean stop nothing is read where no snapshot is.",
        2: "So many did the newest snapshot name. None is left, and nothing is read in its place.",
    },
    "log-end-after-reopen": {
        8: "There it ends. The last index entry names a batch before it: the last batch came too soon for an entry.",
        5: "5 is the last offset of the batch that the entry names. The end is one more.",
        4: "4 is the first offset of the batch that the entry names. Its key is the last one.",
    },
    "reopen-contradicted-by": {
        2: "Spark works out the log end, but has no rule for recovery points: it keeps silent there.",
    },
}
