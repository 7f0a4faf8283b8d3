"""Wrong answers to the predictions of *The wire*, by id, and what one must believe to give such an answer."""

BELIEFS: dict[str, dict[object, str]] = {
    "first-answer-without-rule": {
        1: "The fetch waits for a record; the metadata request waits for nothing.",
        3: "Number 3 is B's request, on another connection.",
    },
    "first-api-asked": {
        "METADATA": "The client does not know yet which versions of it the broker serves.",
        "PRODUCE": "The client does not know yet who leads the partition, or which versions are served.",
    },
    "bytes-of-name-length": {
        2: "That is the length's form in versions that are not flexible.",
        4: "No version writes the length of a text in four bytes.",
        0: "The reader has to know where the name ends.",
    },
    "answers-when-record-comes": {
        1: "The fetch's answer unmutes the connection, and the next request is read at once.",
        3: "With acks=0 there is no answer.",
        0: "The record is what the fetch waits for.",
    },
    "records-after-lost-answer": {
        1: "The broker had appended the first one, and cannot recognise the second.",
        0: "The answer was lost, not the record.",
    },
    "partitions-request-names": {
        1: "The reader does not know of the record yet, and its offsets have not moved.",
        3: "The broker remembers the partitions, and where the reader is in each.",
    },
    "missing-unmute-differs-after": {
        2: "Request 1 was answered with bytes, so the connection was unmuted.",
        7: "Request 3 should have been in work before that.",
    },
    "answers-with-missing-unmute": {
        2: "Request 3 is never read: the connection stays muted after request 2.",
        3: "The client of request 2 gets no answer, with the bug or without.",
    },
}
