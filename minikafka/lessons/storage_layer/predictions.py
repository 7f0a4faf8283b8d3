"""Wrong answers to the predictions of *Storage layer*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "customers-after-kill": {
        6: "All six are in the files. But a task has written down, in a small file beside the log, that it begins at 4.",
        0: "A kill takes the process. The files stay, and with them the two records that nobody has deleted.",
    },
    "recovery-file-at-90": {
        3: "The records are acknowledged, but nobody has flushed them. The task only writes down what has been flushed.",
        None: "Each log has a line in the file, also one of which nothing has been flushed.",
    },
    "second-file-says-3": {
        90: "The flush moves the recovery point in memory. The file is written by a task, and that one has just run.",
        120: "The first run comes 30 seconds after the start, and the others 60 seconds apart: 30, 90, 150.",
    },
    "recovery-point-ten-minutes": {
        6: "flush.ms says which logs a flusher would flush. It does not say when the flusher runs.",
        0: "The flusher did run, once, as all tasks do 30 seconds after the start.",
    },
    "second-records-are-flushed": {
        100: "flush.ms has passed then, but nobody comes by: the flusher runs at 30, 90 and 150.",
        90: "The flusher comes by, and finds a log that was not flushed for 90 seconds: less than flush.ms.",
        30: "The flusher comes by, but 30 seconds are less than flush.ms.",
        60: "The flusher runs 30 seconds after the start, and then every 60 seconds.",
    },
    "second-old-records-go": {
        60: "From then on they may go. They go when the task runs, and that is every five minutes.",
        61: "From then on they may go. They go when the task runs, and that is every five minutes.",
        90: "The retention task does not run every minute: its period is five minutes.",
        300: "The first run comes 30 seconds after the start, the second five minutes after the first.",
    },
    "seconds-until-space-free": {
        0: "The files are only renamed. Somebody may be reading them.",
        300: "No second run is needed: each deletion has a task of its own, after file.delete.delay.ms.",
    },
    "state-0-begins": {
        4: "So does audit-0. But a log that is compacted, if only among other things, is none of this task's.",
        3: "The task does not look at a log that is compacted, not even at a part of it.",
    },
    "files-async-delete-deletes": {
        5: "None of them. The directory got another name, with the files in it.",
        6: "None of them. The directory got another name, with the files in it.",
    },
    "seconds-until-directory-deleted": {
        10: "The name does not tell since when the log has been waiting. It waits for the whole time again.",
        30: "The task runs then for the first time, and finds a log that has been waiting for 30 seconds only.",
        90: "At second 30 the task looks how long the log still has to wait, and comes back just then.",
    },
    "segments-third-start-reads": {
        0: "The second start took the marker away before it opened a log, and nobody wrote another one.",
        4: "The recovery points are the log ends. What lies below them is taken for good.",
        1: "Each log has a segment that holds its recovery point. There are two logs.",
    },
    "segments-recovered-orders-100": {
        0: "A recovery begins with the segment that holds the recovery point, or would hold it: the last one, at least.",
        3: "Nobody doubts it. Of a log that ends at 6 it is the last segment that would hold 100.",
    },
    "outcome-of-orders-many": {
        (
            3,
            True,
        ): "So it is for a line that has not three words. A word that is no number makes only the file worthless.",
        (
            0,
            True,
        ): "So it is for a line that has not three words. A word that is no number makes only the file worthless.",
        (1, False): "The file is not believed at all, so nothing is known to be on the device: everything is read.",
        (0, False): "The stop was unclean. Without recovery points everything has to be read.",
    },
    "append-to-users-0": {
        1: "The log could be written, but its directory has failed, and no log of a failed directory does anything more.",
        "IOException": "That is what the task got. Everybody else is told that the directory is offline.",
    },
    "markers-in-disks": {
        (True, True): "Of disk-b nobody knows whether it is whole. Its next start must recover it.",
        (False, False): "The exception came at the very end, with the locks. Markers are written before.",
    },
    "lying-checkpoint-differs-after": {
        11: "One tick earlier: the file was written at second 30, with ends that nobody had flushed.",
        13: "There the lie is believed. It was told before.",
        12: "A kill writes nothing.",
    },
    "recovery-file-contradicted-by": {
        1: "Spark knows from the lines what has been flushed, and Kafka has written its own file.",
    },
}
