# %% [markdown]
# # Start here
#
# *A log directory read by hand, three witnesses, and how a lesson works.*
#
# ## 1. What this course is
#
# **Time:** about thirty-five minutes to read, twenty minutes to rebuild. **Before:** you know what a topic, a partition and an offset are, and you read Python.
#
# **Afterwards you can decide:** which file of a broker has an offset, and which lessons you need.
#
# A real broker wrote the directory `data/orders-0`: topic `orders`, partition 0. Here are the files with its records. Each **batch** holds three orders, as the producer sent them. Now a consumer asks for one of them.

# %%
from pathlib import Path

from minikafka.lab import OffsetRuler, SegmentShelf, ___, copied_log, fresh_log, mine, my_progress, predict, records
from minikafka.lab import scratch, step_through, three_witnesses, values_of, wake_witnesses

orders = copied_log("data/orders-0")
wake_witnesses()
SegmentShelf(orders, "What a broker left").snap("orders-0: 90 orders in six files").play()

# %%
predict(
    "first-offset-sent",
    "A consumer asks for offset 19. What is the offset of the first record that the broker sends?",
    ___,
    lambda: next(orders.read(19).records.records()).offset,
)

# %% [markdown]
# (Change `___` to a number and run the cell again. Keep the `___` in the import line: it defines the blank.)

# %%
sent = orders.read(19)
print("first records sent:", [(record.offset, bytes(record.value).decode()) for record in sent.records.records()][:3])
print("they begin at byte", sent.fetch_offset_metadata.relative_position_in_segment, "of the file")

# %% [markdown]
# A broker does not take batches apart when it reads. It finds the byte at which the batch with offset 19 begins, and sends the file from
# there on. The consumer drops the records before 19.
#
# A Kafka broker keeps each partition as a directory of files. The code that writes, reads, repairs and cleans these files decides what
# happens to an acknowledged record. This course opens that code twice: in Kafka 4.3.0, and in **minikafka**, a Python twin with the same
# classes, methods, steps and bytes on disk. You step through the twin; Kafka says whether the twin is right.
#
# There are three ways. **Read:** predict, run, explain why a prediction was wrong. **Rebuild:** write methods of the log yourself; your function runs inside the log, and Kafka judges it. **Exam:** write a whole log in one file, from the template [my_log.py](my_log.py); `minikafka exam my_log.py` compares it with Kafka's.
#
# **How much time have you?**
#
# - *Two hours:* parts 1, 2, 3 and 5 of *Start here*; [High watermark](03-high-watermark.ipynb) without *An offset and its place*, *Fetching the metadata* and part 5; [The produce path](11a-produce-path.ipynb), parts 1 to 4 and the card.
# - *A day:* also [Records](01-records.ipynb), [Segments](02-segments.ipynb), [Append](04a-append.ipynb) and [Read isolation](06a-read.ipynb).
# - *A week:* read all lessons. *The whole:* also do all exercises.

# %% [markdown]
# ## 2. A log directory, read by hand
#
# Back to `data/orders-0`. Nothing of Kafka runs now.

# %%
directory = Path("data/orders-0")
for file in sorted(directory.iterdir()):
    print(f"{file.stat().st_size:5} bytes  {file.name}")

# %% [markdown]
# Six **segments**: each is a `.log` with the records and two small files that help to find them. The numbers in the names are offsets: the files named 15 are a segment with the records from offset 15 on. (These segments are tiny. A broker's hold a gigabyte by default. The card names the other files.)
#
# The bytes of a `.log`:

# %%
data = (directory / "00000000000000000015.log").read_bytes()
print(data[:181])

# %% [markdown]
# The broker kept what the producer sent: keys are names, values are JSON. The first 61 bytes
# are the header of a **batch**. It begins with the offset of the batch's first record (8 bytes) and the number
# of bytes that follow (4 bytes). That is enough to walk through the file:

# %%
from struct import unpack_from

position = 0
while position < len(data):
    base_offset, length = unpack_from(">qi", data, position)
    print(f"at byte {position:3}: a batch of {12 + length} bytes, its first offset is {base_offset}")
    position += 12 + length

# %% [markdown]
# Kafka's own tool for this is `kafka-dump-log`. Its twin, `minikafka dump-log`, prints the same lines:

# %%
import sys

from minikafka.tools.dump_log.dump_log_segments import DumpLogSegments, DumpOptions

DumpLogSegments(DumpOptions(), sys.stdout, sys.stderr).run(["data/orders-0/00000000000000000015.log"])

# %% [markdown]
# In the list of files above, each `.index` has 16 bytes: two entries of 8 bytes. (Not every batch gets an entry, a segment's first never.) Now we open a new log and append one record. An open log maps its newest index into memory, and a mapping has a fixed size. `segment.index.bytes`, 10 MiB by default, limits the size of an index.

# %%
log = fresh_log()
log.append_as_leader(records(1), leader_epoch=0)
index = Path(log.dir) / "00000000000000000000.index"
size_while_open = index.stat().st_size

# %%
predict(
    "size-of-open-index",
    "A new log has one record and is open. How many bytes does ls show for its .index?",
    ___,
    lambda: size_while_open,
)

# %%
print("open: ", {file.name: file.stat().st_size for file in sorted(Path(log.dir).glob("0*"))})
log.close()
print("closed:", {file.name: file.stat().st_size for file in sorted(Path(log.dir).glob("0*"))})

# %% [markdown]
# A log creates both indexes of its newest segment at full size (whole entries; 12 bytes each in a time index). It cuts them when the next segment begins or the log is closed. So on a running broker `ls -l` shows index files far larger than their
# `.log`, two for each partition. The lesson *Segments* shows what an index holds.

# %% [markdown]
# ## 3. How a lesson works
#
# **Predict:** you say what will happen, the code runs, and the page names a wrong idea. Here a log gets three records. It runs alone. A consumer reads from offset 0.

# %%
from minikafka import FetchIsolation

log = fresh_log()
log.append_as_leader(records(3), leader_epoch=0)
print("the next offset to be written:", log.log_end_offset)
read = values_of(log, FetchIsolation.HIGH_WATERMARK)

# %%
predict(
    "records-consumer-gets",
    "Three records are appended. How many of them does a consumer get?",
    ___,
    lambda: len(read),
)

# %% [markdown]
# The **ruler** shows a log as a line of offsets, with its marks. (*High watermark* explains LSO.) Move the slider: each frame is a moment.

# %%
ruler = OffsetRuler(log, "Three records, and who may read them").snap("appended")
log.update_high_watermark(3)
ruler.snap("the in-sync replicas have them, too: the high watermark goes up").play()

# %% [markdown]
# A consumer reads below the **high watermark** (HW). The HW goes up only when all in-sync replicas have the records. On a broker, `Partition` raises it; here our call `update_high_watermark(3)` did.
#
# The **stepper** runs a real method and stops at its numbered steps. Each frame shows the source, the changes, and a link to Kafka's method.

# %%
step_through(
    log.append_as_leader,
    records(2, first=3),
    leader_epoch=0,
    watch=log,
    into={"LogSegment.append"},
    locals_of_interest={"physical_position", "batch"},
).play()

# %% [markdown]
# **Exercises** are functions to complete, in [a second notebook](00-start-here-rebuild.ipynb) beside the lesson. `check` compares your answers with answers that were computed without your code, and names the first difference. `hint()` tells more with each call; `solution()` shows one way.
#
# In a **rung** you write one of the log's methods. During a check your function replaces minikafka's method. You can
# do the same by hand with `mine`. Take `LogSegment.should_roll`, which says when a new segment begins. Now it says *always*:

# %%
from minikafka.log.log_segment import LogSegment

with mine(LogSegment.should_roll, lambda self, roll_params: True):
    log = fresh_log()
    for number in range(3):
        log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
[segment.base_offset for segment in log.log_segments]

# %% [markdown]
# Each append began its own segment. After the `with` block minikafka is as before.
#
# A lesson has seven parts. The last one, the honesty box, says what is the same as in Kafka, what is simpler, and what is not shown. An *Erratum* corrects a sentence of older texts; you may skip it.
#
# `make lab` (without a clone of the project: `minikafka lab`) opens a working copy of the lessons, so change what you like. `make fresh NOTEBOOK=02` restores a lesson
# and keeps yours beside it.

# %% [markdown]
# ## 4. Where things stand in Kafka's source
#
# minikafka uses Kafka's names in snake_case, in classes of the same name. Kafka's main class `UnifiedLog` is called `Log` here, as in Kafka up to 3.0. The docstring of each public method names its twin on a line `Kafka:`. This call gives the link to its source at tag 4.3.0:

# %%
from minikafka.lab.stepper.kafka_lines import kafka_link

print(kafka_link("LogSegment.shouldRoll"))

# %% [markdown]
# Older texts describe one large Scala file: `Log.scala` of Kafka 2.x. `LogSegments` and `LogLoader` came out of it in 3.0; in 3.1 the
# rest became `UnifiedLog` and `LocalLog`. Today all of them are Java, in the module `storage`:
#
# | in `Log.scala` of 2.5 | in 4.3.0 | lesson |
# |:---|:---|:---|
# | `segments`, a sorted map | `LogSegments.add`, `LogSegments.floorSegment`, `LogSegments.higherSegment` | Segments |
# | `maybeRoll`, `roll` | `UnifiedLog.maybeRoll`, `UnifiedLog.roll`, `LocalLog.roll` | Segments |
# | `deleteOldSegments`, `deletableSegments` | `UnifiedLog.deleteOldSegments`, `UnifiedLog.deletableSegments` | Segments |
# | `updateHighWatermark`, `maybeIncrementHighWatermark` | `UnifiedLog.updateHighWatermark`, `UnifiedLog.maybeIncrementHighWatermark` | High watermark |
# | `convertToOffsetMetadataOrThrow` | `UnifiedLog.maybeConvertToOffsetMetadata`, `LocalLog.convertToOffsetMetadataOrThrow` | High watermark |
# | `appendAsLeader`, `append` | `UnifiedLog.appendAsLeader`, `UnifiedLog.append`, `LocalLog.append` | Append |
# | `analyzeAndValidateRecords`, and `LogValidator.scala` | `UnifiedLog.analyzeAndValidateRecords`, `LogValidator.validateMessagesAndAssignOffsets` | Append, Stored and safe |
# | `analyzeAndValidateProducerState` | `UnifiedLog.analyzeAndValidateProducerState`, `ProducerStateManager.update` | Producers and transactions |
# | `read` | `UnifiedLog.read`, `LocalLog.read` | From an offset to bytes |
# | `collectAbortedTransactions` | `LocalLog.collectAbortedTransactions` | Read isolation |
# | `fetchOffsetByTimestamp` | `UnifiedLog.fetchOffsetByTimestamp` | From an offset to bytes |
# | `loadSegments`, `loadSegmentFiles`, `recoverLog` | `LogLoader.load`, `LogLoader.loadSegmentFiles`, `LogLoader.recoverLog` | Loading |
# | `loadProducerState`, `rebuildProducerState` | `UnifiedLog.rebuildProducerState` | Loading |
# | `replaceSegments`, `splitOverflowedSegment` | `LocalLog.replaceSegments`, `LocalLog.splitOverflowedSegment` | Loading, Compaction |
# | `truncateTo`, `truncateFullyAndStartAt` | `UnifiedLog.truncateTo`, `UnifiedLog.truncateFullyAndStartAt`, `LocalLog.truncateTo` | Leader epochs |

# %% [markdown]
# ## 5. Three witnesses
#
# Three witnesses get the same workload. **minikafka** runs it. **Spark** knows only the lines below, and derives by queries what must follow.
# **Apache Kafka** is the real `UnifiedLog` 4.3.0 inside Spark's JVM, with the same clock. (`[3x100]` is a batch of 3 records with values of 100 bytes; `leo` is the log end offset,
# the next offset to be written.)

# %%
from minikafka.witness import Workload, agree, minikafka_log, run

workload = Workload.parse("""
append_as_leader [3x100]
append_as_leader [2x100]
maybe_increment_high_watermark 3
roll leo
append_as_leader [1x10]
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %% [markdown]
# Each line is a quantity, with its witnesses and the number of their values that were compared with minikafka's. Spark gives none where it has no rule, and that does not count as agreement.
#
# Now minikafka alone rolls *always*. (Operations are counted from 0. A new log
# has one empty segment.)

# %%
with mine(LogSegment.should_roll, lambda self, roll_params: True):
    other = run(workload, minikafka_log, scratch())
found = agree(other, spark, kafka)

# %%
predict(
    "rolling-differs-after",
    "minikafka rolls at each append. After which operation do the witnesses differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
print(found.first_difference)

# %% [markdown]
# (`0:388` is a segment that begins at offset 0 and has 388 bytes.) Kafka judges a rung like this: your function runs inside minikafka, and the first difference from Kafka is shown.

# %% [markdown]
# ## 6. Exercises
#
# [Start here: rebuild](00-start-here-rebuild.ipynb) has a page on SQL windows and two functions.

# %% [markdown]
# ## 7. The lessons, and your progress
#
# In this order no lesson needs a later one:
#
# - [01 Records](01-records.ipynb): a batch on disk, byte by byte
# - [02 Segments](02-segments.ipynb): how records are kept, found and deleted
# - [03 High watermark](03-high-watermark.ipynb): which records are safe
# - [04a Append](04a-append.ipynb): who gives offsets, and what a refused append leaves behind
# - [04b Stored and safe](04b-stored-and-safe.ipynb): which bytes are stored, and what is safe
# - [05 Producers and transactions](05-producers-and-transactions.ipynb): no duplicates, no half transactions
# - [06a Read isolation](06a-read.ipynb): who may see what
# - [06b From an offset to bytes](06b-offset-to-bytes.ipynb): how few bytes a read needs
# - [07 Loading](07-loading.ipynb): how files become a log again
# - [08a Crash and recovery](08a-crash-and-recovery.ipynb): what a crash can take
# - [08b Damaged and missing files](08b-damaged-files.ipynb): which files a start trusts
# - [09a Background tasks](09a-storage-layer.ipynb): what a broker does by the clock
# - [09b Start and stop](09b-start-and-stop.ipynb): what a start trusts
# - [10a Compaction](10a-compaction.ipynb): the newest record of each key
# - [10b Tombstones and markers](10b-tombstones-and-markers.ipynb): when a deletion is deleted
# - [11a The produce path](11a-produce-path.ipynb): what `acks` waits for
# - [11b The produce purgatory](11b-produce-purgatory.ipynb): who wakes a request
# - [12a Replication](12a-replication.ipynb): who is in sync
# - [12b Leader epochs](12b-leader-epochs.ipynb): what a new leader keeps
# - [13a A log directory at scale](13a-log-directory-at-scale.ipynb): the same questions, asked of terabytes
# - [13b An audit of a log directory](13b-log-audit.ipynb): which copy is right
# - [14 The wire](14-wire.ipynb): requests as bytes
#
# The [glossary](glossary.md) explains the course's words and gives the Chinese ones. [solutions](solutions) has the solutions.
#
# A working copy keeps your predictions, solutions and rungs in `.progress.json`. This cell shows it as a map.

# %%
my_progress()

# %% [markdown]
# ### Card
#
# - A partition is a directory of files. Its records lie in segments, and the number in a file's name is the offset with which the segment begins.
# - A producer sends its records in batches, and the broker does not take a batch apart when it reads. A batch begins with a header of 61 bytes.
# - For a read the broker finds the byte at which a batch begins, and sends the file from there on. The consumer drops what it did not ask for.
# - A consumer reads below the high watermark. It goes up only when all in-sync replicas have the records.
# - While a log is open, the two indexes of its newest segment have their full size, by default 10 MiB each (after a roll a file appears at its first use). They are cut when the next segment begins or the log is closed.
#
# ![Segments of a log](../diagrams/segments.svg)
#
# | file | what it holds | lesson |
# |:---|:---|:---|
# | `.log` | the records, in batches | *Records*, *Segments* |
# | `.index` | offset → byte in the `.log` | *Segments* |
# | `.timeindex` | timestamp → offset | *Segments* |
# | `.txnindex` | aborted transactions; a segment without them has no such file | *Read isolation* |
# | `.snapshot` | the state of producers before the offset in its name | *Producers and transactions* |
# | `leader-epoch-checkpoint` | which leader's epoch began at which offset | *Leader epochs* |
# | `partition.metadata` | the topic's id | *Loading* |

# %% [markdown]
# **Next:** *Records*: the bytes of a batch. (On the way for two hours: [High watermark](03-high-watermark.ipynb).)
