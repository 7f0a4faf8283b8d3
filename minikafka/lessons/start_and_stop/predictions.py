"""Wrong answers to the predictions of *Start and stop*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "segments-read-after-kill": {
        0: "The broker was killed, so nothing says that its files are whole.",
        1: "In the file the recovery point is 7: segment 7 is read as well as segment 8.",
        9: "Below the recovery point in the file all is flushed. It is not read.",
    },
    "segments-third-start-reads": {
        0: "The second start deleted the marker, so the third is unclean.",
        4: "Segments below the recovery point are not read.",
        1: "There are two logs.",
    },
    "segments-recovered-orders-100": {
        0: "At least the last one is recovered.",
        3: "Offset 100 would lie in the last segment, so only that one is recovered.",
    },
    "outcome-of-orders-many": {
        (3, True): "A bad number does not take the directory offline.",
        (0, True): "A bad number does not take the directory offline.",
        (1, False): "The file is ignored, so everything is read.",
        (0, False): "The stop was unclean: everything is read.",
    },
    "append-to-users-0": {
        1: "The log's directory has failed.",
        "IOException": "Only the task got an IOException. Later callers get another exception.",
    },
    "markers-in-disks": {
        (True, True): "disk-b has failed, so it gets no marker.",
        (False, False): "Markers are written before the exception.",
    },
    "kept-marker-differs-after": {
        8: "A clean stop leaves the marker in both.",
        11: "A kill writes and deletes nothing.",
        12: "Look at the marker itself: it should be gone earlier.",
    },
    "kept-marker-recovery-point": {
        5: "5 stands in the file, which counts only after an unclean stop. The marker says: clean.",
        3: "The first stop flushed all five records.",
    },
}
