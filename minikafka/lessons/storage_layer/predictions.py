"""Wrong answers to the predictions of *Background tasks*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "customers-after-kill": {
        6: "At second 30 a task wrote down that the log begins at 4.",
        0: "A kill ends the process. The files stay.",
    },
    "recovery-file-at-90": {
        3: "The task writes only what has been flushed.",
        None: "Each log has a line, flushed or not.",
    },
    "second-file-says-3": {
        90: "The flush moves the recovery point in memory. The file's task has just run.",
        120: "The task runs at 30, 90 and 150.",
    },
    "recovery-point-ten-minutes": {
        6: "flush.ms does not say when the flusher runs.",
        0: "The flusher did run once, at second 30.",
    },
    "second-records-are-flushed": {
        100: "The flusher runs at 30, 90 and 150.",
        90: "That is less than flush.ms after the append.",
        30: "That is less than flush.ms after the append.",
        60: "The flusher runs at 30, then every 60 seconds.",
    },
    "second-old-records-go": {
        60: "They may go right after that. The task runs every five minutes.",
        61: "They may go then. The task runs every five minutes.",
        90: "The retention task runs every five minutes.",
        300: "The first run is at 30, not at 0.",
    },
    "seconds-until-space-free": {
        0: "The files are only renamed.",
        300: "Each deletion has its own task, after file.delete.delay.ms.",
    },
    "state-0-begins": {
        4: "That is audit-0. The task passes over compacted logs.",
        3: "The task passes over compacted logs.",
    },
    "files-async-delete-deletes": {
        5: "Only the directory's name has changed.",
        6: "Only the directory's name has changed.",
    },
    "seconds-until-directory-deleted": {
        10: "The name does not say how long the log has waited.",
        30: "At that run the log has waited for only 30 seconds.",
        90: "The task schedules its next run for when the log is due.",
    },
    "lying-checkpoint-differs-after": {
        11: "The wrong file was written at second 30.",
        13: "The wrong value was written before.",
        12: "A kill writes nothing.",
    },
    "recovery-file-contradicted-by": {
        1: "Spark knows what has been flushed, and Kafka has its own file.",
    },
}
