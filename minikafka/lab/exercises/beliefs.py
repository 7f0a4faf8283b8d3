"""Wrong answers to the predictions of the lessons, and what one must believe to give such an answer.

They stand here and not in the lessons, so that nobody reads them before answering.
"""

_WHOLE_BATCHES = (
    "The batches end at bytes 95, 190 and 285. Those that end at or below BYTE are whole and stay; the log ends before"
    " the first one that is not."
)

BELIEFS: dict[str, dict[object, str]] = {
    # start here
    "A consumer asks for offset 19. Which offset has the first record that it is sent?": {
        19: "That is what the application gets. The broker sends whole batches, and 19 is the second record of one.",
        20: "20 is the last offset of the batch. It is sent from its first record on.",
        15: "The segment begins there. The broker looks for the batch, not only for the file.",
    },
    "One record in a new log, which is open. How many bytes does ls show for its .index?": {
        0: "It has no entry yet, but room for all that may come: while it is open, the file has its full size.",
        8: "An entry has 8 bytes, and there is none yet. While it is open, the file has its full size.",
        16: "Those of a broker that was stopped have 16. While it is open, the file has its full size.",
    },
    "Three records are appended. How many of them does a consumer get?": {
        3: "They are in the log. But a consumer reads below the high watermark, and nobody has raised it.",
        1: "They are one batch. Still, a consumer reads below the high watermark, and nobody has raised it.",
    },
    "Segments that roll at each append: after which operation do the witnesses differ first?": {
        0: "The first append finds an empty segment that begins at 0. A roll there makes it anew: it is still the only one.",
        2: "That moves a mark. Look at the segments after the append before it.",
        3: "There all roll. Those that roll too early did so before.",
        4: "Before it, everybody has rolled by order. The second append already began a segment.",
    },
    # records
    "How many bytes does the varint of 64 take?": {
        1: "64 fits seven bits, but zigzag doubles it first: 128 needs eight.",
        4: "A varint has no fixed size. 64 becomes 128 by zigzag, which takes two groups of seven bits.",
    },
    "Three records come in at offset 100. In how many fields does the stored batch differ from the one sent?": {
        1: "The base offset, and the leader epoch, which no producer knows.",
        3: "The CRC stays: base offset and leader epoch lie before what it covers.",
        5: "The records hold distances from the base offset; none of them changes.",
        6: "The records hold distances from the base offset, and the CRC does not cover it.",
    },
    "In a topic with LogAppendTime: in how many fields does the stored batch differ from the one sent?": {
        2: "Base offset and leader epoch, yes; and the time of the append must stand somewhere.",
        3: "The max timestamp, and an attribute bit that says what it means. Both lie under the CRC.",
        4: "Attributes and max timestamp lie under the CRC, so there is a new CRC as well.",
        8: "No record is touched: they all get the batch's max timestamp when they are read.",
    },
    "Records 0 and 1 of a batch from 0 to 3 are compacted away. Its base offset afterwards?": {
        1: "Records 0 and 1 are gone both. But the batch still stands for all four offsets.",
        2: "That is its first record. The batch still stands for all four offsets.",
    },
    "In how many of the 13 header fields does a flipped bit pass the leader?": {
        0: "The CRC does not cover what stands before it, and one of those fields is of no interest to the leader.",
        2: "A client's batch must begin at offset 0: of the fields before the CRC only the leader epoch is not looked at.",
        3: "Base offset, length and magic are looked at in other ways: only the leader epoch passes.",
        4: "All four lie outside of the CRC. But three of them are looked at in other ways.",
        5: "The CRC itself is compared. Of the fields before it only the leader epoch is not looked at.",
    },
    "After which operation does the log with the stale CRC differ first?": {
        0: "The CRC is wrong from there on, but nobody compares it: an append looks at what comes in, before it writes.",
        1: "The CRC is wrong from operation 0 on, and no later append reads what is written.",
        4: "A start after a clean stop believes the files. Only a recovery compares CRCs.",
    },
    "Where does that log end then?": {
        7: "The recovery begins at the first batch, whose CRC is wrong. It cuts before it.",
        3: "The first batch has a wrong CRC already. The log is cut before it.",
        5: "The first batch has a wrong CRC already. The log is cut before it.",
    },
    # segments
    "The base offset of segments.higher_segment(15)?": {
        15: "Higher means strictly greater. You thought of the ceiling (≥), which Kafka's map never asks for.",
    },
    "The base offset of the active segment after 10 more records?": {
        10: "The segment is exactly full. 353 + 231 bytes are too many for it, so a new one begins.",
        19: "19 is the last offset written. A segment begins at the next one.",
        30: "30 will be the next offset after the append. The segment begins where the append begins.",
    },
    "Does the index hold an entry for exactly offset 65? (True or False)": {
        True: (
            "The index is sparse: most offsets have no entry. The search gives the greatest entry that is not above 65."
        ),
    },
    "Segment 15's first index entry leads from offset 23 to byte 363. Which number do its first four bytes hold?": {
        23: (
            "An index does not hold absolute offsets: they have eight bytes. It holds the distance from the segment's"
            " base offset."
        ),
        7: "The distance is counted from the base offset itself: 15 is 0, 16 is 1.",
        9: "The distance is counted from the base offset itself: 15 is 0, 16 is 1.",
    },
    "How many segments does retention.bytes=2000 delete?": {
        4: (
            "That would leave 1829 bytes, less than asked for. A segment goes only while the rest is still ≥"
            " retention.bytes."
        ),
        2: "Two leave 3659 bytes, and without a third one 2744 are still enough.",
    },
    "After which operation do the segments differ first?": {
        4: (
            "Operation 4 is the append of 10 records, which rolls with and without the bug. It is the append of 2 that"
            " fills the segment exactly."
        ),
    },
    "About the segments after that operation, how many witnesses contradict minikafka? (1 or 2)": {
        1: (
            "Spark has a rule for rolling: it works out the segments from the sizes of the batches, and Kafka has run"
            " them."
        ),
    },
    # high-watermark
    "What does there.position_diff(snapshot.log_end_offset) give? (a number, or the name of an exception)": {
        -54: "That is the difference of the offsets. Bytes can be compared only within one file.",
        54: "That is the difference of the offsets. Bytes can be compared only within one file.",
    },
    "update_high_watermark(12) on a log that ends at 10 returns?": {
        12: "The mark can't pass the log end: what is not written is not replicated.",
        9: "The mark is exclusive. At LEO it says: all of the log is committed.",
        6: "It is not refused: update_high_watermark bends the value to the nearest one allowed.",
    },
    "maybe_increment_high_watermark(LogOffsetMetadata(11)) on a log that ends at 10? (a value, or the name of an exception)": {
        10: (
            "That is update_high_watermark, which bends. The leader has worked the value out from replicas: above LEO"
            " it must be a bug."
        ),
        "OffsetOutOfRangeException": (
            "That is for readers. An argument that can't be right is an IllegalArgumentException."
        ),
    },
    "The high watermark after the first read up to it?": {
        34: (
            "So one would think. But the lookup reads the batch, and since Kafka 4.0 a read reports the batch's base"
            " offset."
        ),
        36: "It is never rounded up: what is not committed must not be shown.",
    },
    "The fetch of follower 1 from 5 came when follower 2 had fetched from 0. The mark after it?": {
        5: "HW is not the highest LEO: offsets 0 to 4 were on the leader and on one follower only.",
        8: "8 is the leader's own end. The mark is the least end in the ISR.",
    },
    "After which operation do the witnesses differ first?": {
        6: "Taking follower 2 out raises the mark, with and without the bug.",
        5: "There the mark rises for the first time. Only a step back can tell the bug.",
    },
    "About the result of that operation, how many witnesses contradict minikafka? (1 or 2)": {
        2: (
            "Spark works out where the mark must be, not what a call returns. Where a witness has no rule, it says"
            " nothing."
        ),
    },
    # read
    "The last offset in the answer to a follower that reads from 0?": {
        16: "An answer is a view of one file. It ends where segment 0 ends; the follower asks again.",
        14: "That is the high watermark's business. A follower reads up to LEO, or nothing would be replicated.",
        10: "That is the last stable offset's business. A follower reads up to LEO.",
    },
    "At which offset does the answer to a read from 5 begin? (a number, or the name of an exception)": {
        5: "No record has offset 5. A read finds the first batch that ends at or above the start.",
        0: (
            "The batch from 0 to 2 ends below 5. A segment without anything from 5 on answers nothing, and the next is"
            " asked."
        ),
        "OffsetOutOfRangeException": "Out of range is what lies below the log start or above LEO. Holes are ordinary.",
    },
    "How many batches does the scan look at (the one found included)?": {
        1: "An entry names the batch that ends with its offset, 100 here. Batches with higher offsets come behind it.",
        60: "Without an index it would be so. The scan begins at the byte of the entry.",
    },
    "How many bytes has the answer to read(9, 120, LOG_END, True)?": {
        95: (
            "One whole batch, so one would think. But the broker does not look for the end of a batch: it cuts at the"
            " limit."
        ),
        190: "The limit is kept to: only the first batch may break it.",
    },
    "read(0, …, TXN_COMMITTED) is answered from segment 0. How many segments' transaction indexes are asked?": {
        1: "The records come from segment 0, but the markers that abort them may lie in any later segment.",
        3: (
            "Segment by segment, until an entry says that all below the upper bound was decided when it was written."
            " Segment 5 has one."
        ),
        4: (
            "Not all of them: the walk ends at an entry that says that all below the upper bound was decided. Segment 5"
            " has one."
        ),
    },
    "Is the deleted record 5 still sent to somebody? (True or False)": {
        False: "A read at 6 begins with the batch that holds 6, and that one begins at 5. The consumer drops it.",
    },
    "Which offset does fetch_offset_by_timestamp(noon + 2000) find?": {
        2: (
            "Not the record with that timestamp: the first one, by offset, that is not older. Whoever reads from there"
            " misses nothing."
        ),
        0: "Record 0 is older than noon + 2000.",
    },
    "What does view.write_to(sender, 0, view.size_in_bytes) do now? (a number of bytes, or the name of an exception)": {
        0: (
            "It could send nothing and say nothing; but a reader that was promised bytes would wait for them. It is"
            " told."
        ),
        95: "The bytes are gone, and what is not there can't be sent.",
        "OffsetOutOfRangeException": "The view knows bytes, not offsets.",
    },
    "After which operation is the list missed first?": {
        4: "There both transactions are open: the bound stops the reader before them, and no list is needed.",
        5: "Writing a marker is sound. What is wrong is read later.",
        14: "That read would show it, too, but a consumer came by before.",
    },
    "About what that consumer sees, how many witnesses contradict minikafka? (1 or 2)": {
        1: "Spark has its sentence about markers, and Kafka has its log. Both know that producer 7 aborted.",
    },
    # loading
    "A .log.deleted, an .index without a .log, a .snapshot where no segment begins, a .min.opt, a notes.txt: how many of the five does the load take away?": {
        1: "The .deleted file is the only one with a suffix for it. An index without its .log and a stray snapshot go, too.",
        2: "Two and one more: phase 4 deletes the orphaned index, and phase 7 the stray snapshot.",
        4: "Kafka knows no .min.opt. What has a name that the loader does not know stays where it is.",
        5: "The loader takes away what it knows. .min.opt and notes.txt are nothing to it.",
    },
    "One .log file of 0 bytes. After a clean load the log ends at?": {
        0: "No record is left, but the name holds the offset at which the segment begins: the next record gets that one.",
        5: "5 was the last record. The log end is the offset of the next one.",
    },
    "The orders end at 90, the checkpoint says 24, the stop was clean. The recovery point after the load?": {
        24: "So it would be after an unclean stop. A clean one flushed everything before it ended.",
        0: "The checkpoint says more, and after a clean stop even the checkpoint is not needed.",
        89: "89 is the last record. The recovery point is the first offset that is not known to be flushed: one more.",
    },
    "Epochs begin at 0, 50, 90 and 120, the log ends at 90. How many entries has the cache after the load?": {
        3: "An entry that begins at the log end goes, too: no record was written in that epoch.",
        4: "What the log does not have, its epochs must not have either: entries at or above the log end go.",
        1: "Only entries at or above the log end go. Epoch 1 begins at 50, and has records up to 89.",
    },
    "No snapshot is left, the stop counts as clean. How many producers does the log know after the load?": {
        3: "That is what reading all batches would find. After a clean stop nothing is read where no snapshot is.",
        2: "So many did the newest snapshot name. None is left, and nothing is read in its place.",
    },
    "Eight records in four batches. Where does the sick log end after reopen?": {
        8: "There it ends. The last index entry names a batch before it: the last batch came too soon for an entry.",
        5: "5 is the last offset of the batch that the entry names. The end is one more.",
        4: "4 is the first offset of the batch that the entry names. Its key is the last one.",
    },
    "The recovery point after reopen is wrong, too. How many of the other two witnesses contradict minikafka about it? (1 or 2)": {
        2: "Spark works out the log end, but has no rule for recovery points: it keeps silent there.",
    },
    # crash-and-recovery
    "Four records, a roll, two more records, then the background task has run. The recovery point?": {
        0: "The roll asked for a flush, and the task has run: what lies below the new segment is on the device.",
        6: "The task flushes what lies below the new segment. The two records in it were not asked for.",
        3: "3 is the last offset of the old segment. The recovery point is the first one that is not flushed.",
    },
    "The segments begin at 0, 15, 30, 41 and 56, the recovery point is 24. How many of them are scanned?": {
        3: "The segment that begins at 15 holds offset 24. It is scanned from its first byte.",
        5: "Segment 0 ends at 15, below the recovery point: it is known to be on the device.",
        1: (
            "The active segment only? Anything above the recovery point may be torn: the device writes in the order it"
            " likes."
        ),
    },
    "105 of the new batch's 112 bytes are on the disk. How many segments has the log after the load?": {
        2: "The roll came before the write, and its file was made. A cut takes bytes from a file, even all; the file stays.",
        1: "Only what lies behind the bad batch goes, and nothing does. What was there before the append is sound.",
    },
    "Segment 6 is cut to BYTE bytes. The log ends at?": {
        6: _WHOLE_BATCHES,
        8: _WHOLE_BATCHES,
        10: _WHOLE_BATCHES,
        12: _WHOLE_BATCHES,
    },
    "The time index of segment 30 is missing, the stop was clean. How many entries has it after the load?": {
        2: (
            "It is made anew, but empty. Only a missing offset index (or a bad transaction index) makes a segment be"
            " recovered."
        ),
    },
    "Segment 30 has a bad bit in its first batch, and no .index. After an unclean stop the log ends at?": {
        30: (
            "With its .index it would. But the segment was cut when it was opened, and the scan that comes later finds"
            " nothing to cut in it: it goes on."
        ),
        41: "Segment 30 is recovered alone, when it is opened. Nothing is done to those above it.",
    },
    "The first offset of epoch 0 after the load?": {
        0: "So it was. But only segments from 15 on are read, and the first batch of epoch 0 that is met is at 15.",
        24: "The scan begins with the whole segment that holds 24.",
    },
    "The upper new segment is .swap already, of the lower one only the .log is, its .index still .cleaned. The load…? ('undoes' or 'completes')": {
        "completes": (
            "A .cleaned file is left. Whoever renames goes from the highest offset down, so the lowest ones tell"
            " whether it was done."
        ),
    },
    "After which operation do minikafka and Kafka differ first?": {
        5: (
            "The index is wrong already, 150 entries of zeros, but zeros are not compared, and the last batch tells the"
            " log end."
        ),
        7: "It comes one append sooner.",
    },
    "About the segments after that append, how many witnesses contradict minikafka? (1 or 2)": {
        1: (
            "A kill without damage changes nothing of what comes next: Spark's rule for rolling holds on, and Kafka"
            " agrees with it."
        ),
    },
    # append
    "The last_offset of the answer, for a batch of three on a log that ends at 10?": {
        13: "13 is LEO afterwards. last_offset is inclusive: the offset of the last record that was written.",
        2: "That is what the producer wrote into its batch. The leader has given new offsets in step 5.",
        10: "10 is the first of the three.",
    },
    "Where does the follower end after append_as_follower(fetched(leader), leader_epoch=0)?": {
        13: "The batch of epoch 1 comes from another leader than the one that was asked: it is skipped.",
        0: "Only what is of a later epoch is skipped. The batches before it are good.",
        "UnexpectedAppendOffsetException": (
            "That is for offsets below LEO. A batch of a later epoch is skipped without a word."
        ),
    },
    "How many segments has the log after the refused append?": {
        1: "The roll of step 8 came before the refusal of step 9, and nobody takes it back.",
    },
    "Where does the follower end after offsets 21 and 22, of which it has the first? (a number, or the name of an exception)": {
        23: "Offset 21 is below its log end, 22. What it has already it does not take twice, and nothing behind it either.",
        22: "It stays at 22, and its caller is told by an exception.",
        "OffsetsOutOfOrderException": "That is for batches of one set, among themselves. Here the set begins below LEO.",
        "OffsetOutOfRangeException": "That is for readers. This is a follower that is sent what it has.",
    },
    "The topic wants gzip at level 9 and gets gzip at another level. Does the leader compress the batch again? (True or False)": {
        True: "What is compared is the codec, not its level. The batch stays as it came.",
    },
    "segment.ms is 1000. Does the segment roll when the append comes an hour later, with a record of noon? (True or False)": {
        True: "The records' timestamps count, not the clock: this one is as old as the segment's first batch.",
    },
    "How many entries has the time index?": {
        4: "The time index takes only what is later than its last entry. Timestamps that go back add nothing.",
        5: "The first batch is due for no entry, and timestamps that go back add none.",
        3: "Minute 2 comes after minute 1, but not after minute 3, which the index has already.",
    },
    "flush.messages=5. The recovery point after the appends of 2, 2, 2 and 1 records?": {
        5: "A flush comes after a whole append, and takes all that is written: six records.",
        7: "After the flush at 6 one record has come. The next flush waits for five.",
        0: "After the third append six records were not flushed, and five are enough.",
    },
    "After which operation do the recovery points differ first?": {
        4: "There both flush. It is the append that makes exactly 5 records that tells them apart.",
        3: "By then the sound log has flushed already: the fifth record came one operation before.",
        1: "Four records are there, too few for both.",
    },
    "About the recovery point after that operation, how many witnesses contradict minikafka? (1 or 2)": {
        2: "Spark has no rule for flushing and says nothing about it. Its silence is no agreement, and no contradiction.",
    },
    # producers-and-transactions
    "Producer 7's transaction is open. Where does the follower end after its plain batch at 1? (a number, or the name of an exception)": {
        2: (
            "A follower does not look at sequences, but it works out the producer's new state. A plain batch in an open"
            " transaction has none."
        ),
        1: "It is refused, and the caller is told by an exception.",
        "OutOfOrderSequenceException": "The sequence is right, and a follower would not look at it.",
    },
    "The oldest of the six batches (sequence 0) comes again: its offset, or the name of the exception?": {
        0: "Five batches are remembered, and this was the sixth. It is not known any more.",
        12: "It is not written again: its sequence is not the one that is due, which is 12.",
    },
    "Of the markers of epochs 0, 1 and 1 again, how many are refused?": {
        0: "While a transaction is open, a marker of version 2 must bring a newer epoch. The first one does not.",
        2: "The third one finds no transaction open. It is the second one's retry, and does no harm.",
        3: "Epoch 1 is newer than 0: that marker ends the transaction.",
    },
    "The batch before the last one (sequence 8) comes again after the restart: its offset, or the name of the exception?": {
        8: "Five batches are remembered in memory. The snapshot, from which the restart begins, has the last one only.",
    },
    "The marker is written and HW has not passed it. The last stable offset?": {
        3: (
            "Not yet: the marker could be lost with this leader. The transaction holds LSO until HW has passed the"
            " marker."
        ),
        7: "HW is an upper bound of LSO. The transaction that began at 0 is not decided for good.",
        8: "LSO is never above HW, and 7's transaction holds it at 0 until the marker is replicated.",
    },
    "After which operation do the last stable offsets differ first?": {
        2: "There both transactions are open, with and without the bug.",
        5: "There HW passes the marker, and the sound log lets go as well.",
        6: "By then the first marker has been replicated. The bug shows at the first marker that is not.",
    },
    "About the last stable offset after that operation, how many witnesses contradict minikafka? (1 or 2)": {
        1: (
            "Spark gives each record its producer's next marker, and asks whether the mark has passed it. It needs no"
            " log for that."
        ),
    },
    # storage-layer
    "At second 90: what does the file of recovery points say of orders-0?": {
        3: "The records are acknowledged, but nobody has flushed them. The task only writes down what has been flushed.",
        None: "Each log has a line in the file, also one of which nothing has been flushed.",
    },
    "The roll came at second 90. At which second does the file say 3?": {
        90: "The flush moves the recovery point in memory. The file is written by a task, and that one has just run.",
        120: "The first run comes 30 seconds after the start, and the others 60 seconds apart: 30, 90, 150.",
    },
    "After those ten minutes: the recovery point of orders-0?": {
        6: "flush.ms says which logs a flusher would flush. It does not say when the flusher runs.",
        0: "The flusher did run, once, as all tasks do 30 seconds after the start.",
    },
    "At which second are the three records of second 0 flushed?": {
        100: "flush.ms has passed then, but nobody comes by: the flusher runs at 30, 90 and 150.",
        90: "The flusher comes by, and finds a log that was not flushed for 90 seconds: less than flush.ms.",
        30: "The flusher comes by, but 30 seconds are less than flush.ms.",
        60: "The flusher runs 30 seconds after the start, and then every 60 seconds.",
    },
    "At which second do the old records of audit-0 go?": {
        60: "From then on they may go. They go when the task runs, and that is every five minutes.",
        61: "From then on they may go. They go when the task runs, and that is every five minutes.",
        90: "The retention task does not run every minute: its period is five minutes.",
        300: "The first run comes 30 seconds after the start, the second five minutes after the first.",
    },
    "And how many seconds after that is their disk space free?": {
        0: "The files are only renamed. Somebody may be reading them.",
        300: "No second run is needed: each deletion has a task of its own, after file.delete.delay.ms.",
    },
    "Where does state-0 begin, now that the retention task has run? (its records are as old as those of audit-0)": {
        4: "So does audit-0. But a log that is compacted, if only among other things, is none of this task's.",
        3: "The task does not look at a log that is compacted, not even at a part of it.",
    },
    "How many of its files has async_delete deleted when it returns?": {
        5: "None of them. The directory got another name, with the files in it.",
        6: "None of them. The directory got another name, with the files in it.",
    },
    "How many seconds after the second start is the directory deleted?": {
        10: "The name does not tell since when the log has been waiting. It waits for the whole time again.",
        30: "The task runs then for the first time, and finds a log that has been waiting for 30 seconds only.",
        90: "At second 30 the task looks how long the log still has to wait, and comes back just then.",
    },
    "How many of the four segments does the third start read and check?": {
        0: "The second start took the marker away before it opened a log, and nobody wrote another one.",
        4: "The recovery points are the log ends. What lies below them is taken for good.",
        1: "Each log has a segment that holds its recovery point. There are two logs.",
    },
    "'orders 0 100': how many segments are recovered?": {
        0: "A recovery begins with the segment that holds the recovery point, or would hold it: the last one, at least.",
        3: "Nobody doubts it. Of a log that ends at 6 it is the last segment that would hold 100.",
    },
    "'orders 0 many', which is no number: how many segments are recovered, and is the directory offline? (a pair such as (1, False))": {
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
    "What does an append to users-0 give now? (the log's new end, or the name of the exception)": {
        1: "The log could be written, but its directory has failed, and no log of a failed directory does anything more.",
        "IOException": "That is what the task got. Everybody else is told that the directory is offline.",
    },
    "Is there a marker in disk-a, and in disk-b? (a pair such as (True, True))": {
        (True, True): "Of disk-b nobody knows whether it is whole. Its next start must recover it.",
        (False, False): "The exception came at the very end, with the locks. Markers are written before.",
    },
    "After which operation does minikafka with the lying checkpoint differ first?": {
        11: "One tick earlier: the file was written at second 30, with ends that nobody had flushed.",
        13: "There the lie is believed. It was told before.",
        12: "A kill writes nothing.",
    },
    "About the file after that operation, how many witnesses contradict minikafka? (1 or 2)": {
        1: "Spark knows from the lines what has been flushed, and Kafka has written its own file.",
    },
    # compaction
    "The first uncleanable offset that cleanable_offsets gives for this log?": {
        12: "The active segment is one bound of three, and not the least here. What is not stable must wait as well.",
        14: "Below the high watermark a transaction is still open: the bound is the last stable offset.",
        8: "A cleaning will end there, for it takes whole segments. But that is a later step: the bound itself is 9.",
        16: "That is the log's end. The active segment is never cleaned, and what is not stable has to wait.",
    },
    "Which log is grabbed first? ('orders-0', 'users-0' or 'prices-0')": {
        "users-0": "It has the most dirty bytes. What counts is their share in the log.",
        "orders-0": "971 of 4042 bytes are dirty, less than 0.3: it is not even a candidate.",
    },
    "Into which slot goes e?": {
        1: "Slot 1 holds a. The whole digests are compared, and they differ: nothing is overwritten.",
        2: "The map does not go on to the neighbouring slot (b is there, too). It reads on in the digest.",
        3: "Slot 3 is free, but it is the slot of e's fourth try. The second one finds a free slot already.",
        6: "That is the slot of the third try. The second one finds slot 5 free.",
    },
    "Up to which offset is this log clean after one turn?": {
        6: "There are four keys, and the map has room for three. It ends where the fourth one comes.",
        3: "Offset 3 found room. The end is exclusive: the map's latest offset + 1.",
        0: "A turn need not take in a whole batch. What the map has seen is cleaned.",
        5: "Offset 4 brings the fourth key. What comes after it is not looked at any more.",
    },
    "How many of the ten records are written by the second pass?": {
        3: "That is the head. The tail is written anew as well: all segments from the log's beginning.",
        10: "So many are read. Of a, c and a again older records go: at 2, 6 and 12.",
        6: "A tombstone stays until its horizon, and a marker while a header of its transaction is there.",
        5: "A tombstone stays until its horizon, and a marker while a header of its transaction is there.",
        8: "Three are superseded: c at 2 by 14, a at 6 and 12 by 13. Keys of the head have older records in the tail.",
        9: "Three are superseded: c at 2 by 14, a at 6 and 12 by 13. Keys of the head have older records in the tail.",
    },
    "How many segments has this log after one turn, the empty active one included?": {
        4: "After the turn two fit into one. But groups are made before it, of the sizes of then: 97 + 97 > 180.",
        3: "Groups are made of the sizes before the cleaning: 97 + 97 > 180.",
        2: "No group may be larger than a segment, and sizes are those before the cleaning: 97 + 97 > 180.",
        5: "Nothing joins the active segment, and no two others fit into one: 97 + 97 > 180.",
    },
    "From how many hours after noon on may the tombstone go?": {
        1: "No clock runs when a tombstone is written. The first cleaning that keeps it sets the horizon: at two, plus one.",
        2: "The first cleaning keeps it, or nobody would learn of the deletion. It sets the horizon: an hour from then.",
        0: "Then a consumer that reads a moment later would never learn of the deletion.",
    },
    "The slow consumer's value of a, when it has read to the end? (a text, or None if it has none)": {
        None: "Nothing from offset 2 on speaks of a any more: the tombstone is gone. Who should tell it?",
    },
    "How many of the six batches are left after a turn?": {
        1: (
            "Only one has rows that count. But each producer's last sequence number must not be forgotten, nor how its"
            " transaction ended while something of it is there."
        ),
        3: "The markers stay. So do the headers of what they end: they hold the producers' last sequence numbers.",
        4: "Both producers' batches stay as headers, the aborted one as well: each is its producer's last one.",
        6: "The first batch has no producer whose sequence number it could hold. Nothing of it is left.",
    },
    "After which operation do minikafka and another witness differ first?": {
        9: "The consumer sees it there. But the cleaning before, operation 8, has already counted what it kept.",
        2: "There the record is written, and a record that will be aborted is no bug.",
        14: "The second cleaning finds the row gone already.",
    },
    "About what the consumer of operation 9 sees, how many witnesses contradict minikafka? (1 or 2)": {
        1: "Spark knows from the workload which records survive a cleaning, and Kafka has cleaned its own log.",
    },
    # replication
    "After how many rounds is the producer answered?": {
        1: (
            "After one round the followers have the records, and the leader does not know it: it learns that from the"
            " offsets of their next fetches."
        ),
        3: "That is when the followers learn of the mark. The leader knew a round before, and answered.",
    },
    "And after that same round: the high watermark of follower 1?": {
        3: (
            "The leader reads before it takes note of the fetch, so the answer has the mark from before. The follower"
            " hears of the new one in the next answer."
        ),
    },
    "How many of the five records does the consumer get from the new leader at once?": {
        5: (
            "It has all five, but as a follower it had heard of a mark of 4 only, and believes that until its own"
            " followers have fetched."
        ),
        0: "It keeps the mark that it had as a follower. Nothing falls back to the beginning.",
    },
    "At which second does broker 2 leave the ISR?": {
        30: "At second 30 it was caught up exactly 30 seconds ago. It must be more than that.",
        31: "From then on it is too late. But the leader looks every 15 seconds, and not in between.",
        60: "The leader looks every 15 seconds, and at second 45 it was too late already.",
    },
    "What was the producer of a told? ('NONE' or the name of an error)": {
        "NONE": "The mark waited for broker 2 until it had left. The producer's patience ended before that.",
        "NOT_ENOUGH_REPLICAS": "That is told before anything is appended, when the ISR is too small. It had three members.",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "The ISR was never too small: two are enough here.",
    },
    "How many brokers are in the ISR after those ten minutes?": {
        1: "Who stands at the leader's end is not behind, however long it is silent.",
    },
    "The leader is alone in the ISR. Where is its high watermark?": {
        2: "So it would be if one replica were enough. Below min.insync.replicas the mark stands still.",
        3: "Only c was appended, b was refused. And below min.insync.replicas the mark stands still.",
    },
    "The ISR is broker 0 alone, as before. Is e acknowledged at once, as d was? (True or False)": {
        True: "Broker 1 is not in the ISR, but it was caught up a moment ago and is about to join: the mark waits for it.",
    },
    "At which offset does broker 0 cut its log? (2 for: nothing is cut)": {
        2: "At the leader epoch 0 ends at 1. What broker 0 has of epoch 0 from there on, nobody else has.",
        0: "Up to where epoch 0 ends at the leader both have the same records of it. Those stay.",
    },
    "Which value has broker 0 at offset 1, after d has come? ('b' or 'c')": {
        "c": "Its own high watermark was 2, and nothing above that was there to be cut. It never asked for offset 1.",
    },
    "At which offset does broker 0 cut?": {
        11: "Then it would keep x, which it wrote in epoch 3. Its leader has never had an epoch 3.",
        12: "That is where epoch 1 ends at the leader. Broker 0 never had an epoch 1, and its log ends below that.",
    },
    "After which operation do minikafka's brokers with this bug differ first from another witness?": {
        9: "The mark moves there. But after operation 8 the leader believes already that broker 1 has three records.",
        11: "That is where the mark moves without the bug. With it, all is a round earlier.",
        7: "An append alone tells the leader nothing of its followers.",
    },
    "And after which operation is the first producer answered? (Without the bug it is 11.)": {
        8: "Broker 2 is in the ISR as well, and fetches with operation 9.",
        7: "Nobody has fetched by then, and what is not sent does not count even now.",
        11: "The leader no longer waits for the second fetch of each follower.",
    },
    # produce path
    "How many of the six classes does a request for orders-9 alone reach?": {
        2: "ReplicaManager is called only when something is left to be appended. KafkaApis knows from the metadata.",
        3: "No Partition is asked: KafkaApis knows from the metadata which partitions there are.",
        6: "Nothing is appended: KafkaApis knows from the metadata that there is no such partition.",
    },
    "How many of these three records are in the log of orders-1?": {
        0: "The minimum is for those who ask for it, with acks=all. The others are not refused.",
        1: "acks 0 and acks 1 differ in the answer, not in what is written.",
        3: "With acks=all a partition takes nothing while fewer than the minimum are in sync.",
    },
    "What does the producer of the second request get? ('nothing', 'connection closed' or 'an error')": {
        "nothing": "So it is for success. A failure must be shown somehow, and without a response there is only one way.",
        "an error": "With acks=0 the client expects no response, so there is no place for an error.",
    },
    "Which of the two requests is answered now? (1, 2, 'both' or 'neither')": {
        1: "One of its partitions is replicated, the other one is not. One response speaks for both.",
        2: "It waits for a mark of 3 in orders-0: the follower has shown that it has offsets 0 and 1, no more.",
        "both": "Request 1 still waits for orders-1, and request 2 for a mark of 3 in orders-0.",
    },
    "How many records are in orders-0 now?": {
        1: "The time-out takes nothing back: the first a is in the log, and the log does not know that both are one.",
    },
    "With which error is it answered? ('NONE' or the name of an error)": {
        "NONE": "Below the minimum the high watermark stands still, so the record never counts as replicated in time.",
        "NOT_ENOUGH_REPLICAS": "That is told before anything is appended. This record is in the log.",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND": (
            "For that the mark would have to reach the required offset. Below the minimum it stands still: the timer is"
            " the only way out."
        ),
    },
    "Which of p, q and r were appended? (a text, such as 'p q r')": {
        "p q r": "One key, one place in the map: what comes later takes the place of what was there.",
        "p q": "What comes later under the same key takes the place of what was there.",
    },
    "After which operation do minikafka's brokers with this bug differ first?": {
        5: "There the mark is at 0, and the wrong required offset is 2: the request waits, as it should.",
        7: "The mark goes from 0 to 3 in one leap, over 2 and 3: the request is answered when it should be.",
        10: "That is a fetch. The request that is answered too early had its mark when it came.",
    },
    "About who is acknowledged then, how many witnesses contradict minikafka? (1 or 2)": {
        1: "Spark knows from the lines that nobody has fetched the record yet, and Kafka has its own high watermark.",
    },
    # log directory at scale
    "How many of the five segments will be read?": {
        1: "The segment that begins at 59 reaches to 113. The one from 114 on is wanted as well.",
        3: "Files are named by their first offsets: the segment at 56 ends where the next one begins, at 59.",
        5: "Names of files are enough to leave some out: a segment ends where the next one begins.",
    },
    "And how many of the 2965 bytes of the segment that begins at 59? (all of them, or fewer: a number)": {
        2965: "The offset index leads to a batch that is not behind offset 100. What lies before it is not read.",
        2095: "That is where the reading begins. It goes on to the end of the segment: subtract.",
        1952: "The first entry would do, but the second one leads nearer, and its batch is not behind offset 100 either.",
    },
    "In how many of the three segments does the query look for orders before 22:00?": {
        1: "Late records may be anywhere: the second segment has six of them.",
        2: "Nothing says that the third one has none. Indexes note the largest timestamps, not the smallest.",
    },
    "And in how many for orders from 07:00 on?": {
        2: "The largest timestamp of the second segment is 06:48, so it holds nothing that is asked for.",
        3: "The largest timestamps of two segments are too small. They are left out unread.",
    },
    "By which factor do the bytes of an hour grow from one to two o'clock? (a whole number, rounded)": {
        3: "Three times as many records, and each takes more room as well: look at the codec.",
        2: "That is what the codec does to a record. There are three times as many records, too.",
    },
    "How many payments that were committed does that one transaction hide?": {
        3: "Those are its own, and they were not committed. It hides what came after it.",
        42: "That counts what was aborted and the open ones, too: 90 less 48.",
        51: "Those are offsets. Markers take some, and some records were aborted or are open.",
    },
    "Which group is behind by the longest time?": {
        "dashboard": "It has most records to read, but clicks come fast: its first one is from 03:20.",
        "billing": "It has stood still since 01:40. There is one that stands still for longer.",
        "warehouse": "It has read everything.",
    },
    "How many of the 170 records would be left after a round?": {
        8: "There are 8 keys in the first segment. But the active one is not cleaned: all its records stay.",
        6: "Tombstones stay in the first round that sees them, and the active segment is not cleaned.",
        18: "Those are the records of the active segment. Of the first one, the newest of each key stay as well.",
    },
    "verify checks checksums, offsets, indexes and snapshots. Does it find anything in the forged copy? (True or False)": {
        True: "Everything fits together, the checksum, too. That the bytes are others than the leader's, one copy can't tell.",
    },
    "One bit of a batch is wrong. How many of the 960 clicks are missing?": {
        1: "The checksum is the batch's. Which record is damaged, it does not tell.",
        220: "That many a broker would lose, which cuts the segment there. A query goes on with the next batch.",
        430: "The segment goes on behind the damage: the batch says how long it is.",
    },
    "Does a consumer get the same records, with offsets and times, from the restored directory? (True or False)": {
        False: "Batches are made anew, but what a consumer gets of them is what was in the table.",
    },
    "After which operation does the source with this bug differ first?": {
        4: "The last batch of the segment has the record of second 9 in it: its largest timestamp is late enough.",
        10: "By then there is a second segment. In the first one, an older batch came last much sooner.",
        14: "A third segment that is old is left out rightly.",
    },
    "About the question with since_then, after that operation: how many witnesses contradict the source? (1 or 2)": {
        1: "Spark knows from the lines which records are young, and Kafka has its log. Both find the one that is missing.",
    },
}
