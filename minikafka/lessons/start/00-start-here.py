# %% [markdown]
# # Start here
#
# *A log directory with bare hands, three witnesses, and how a lesson works.*
#
# ## 1. What this course is
#
# **Time:** ten minutes to the first surprise, half an hour to read, half an hour to rebuild. **Before:** you know what a topic, a partition and an offset are, and you read Python.
#
# **Afterwards you can decide:** which file of a broker to look into for an offset, which lessons you need, and by which door you enter them.
#
# A real broker wrote the directory `data/orders-0`: topic `orders`, partition 0. Here are its files of records. Three orders lie together in a **batch**, as the producer sent them. Now a consumer asks for one of them.

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
    "A consumer asks for offset 19. Which offset has the first record that it is sent?",
    ___,
    lambda: next(orders.read(19).records.records()).offset,
)

# %% [markdown]
# (Change `___` to a number and run the cell again. The page shows what happened in the cell below. The `___` among the imports is the blank itself. Leave it there.)

# %%
sent = orders.read(19)
print("first records sent:", [(record.offset, bytes(record.value).decode()) for record in sent.records.records()][:3])
print("they begin at byte", sent.fetch_offset_metadata.relative_position_in_segment, "of the file")

# %% [markdown]
# A broker does not take batches apart when it reads. It finds the byte at which the batch with offset 19 begins, and sends the file from
# there on. The consumer drops what it has not asked for. That is why a broker can send a file to a socket without ever looking at a
# record; the lesson *Read* follows such a read down to the file.
#
# A Kafka broker keeps each partition as a directory of files. The code that writes, reads, repairs and cleans these files decides what
# happens to an acknowledged record. This course opens that code. It is written twice: in Kafka 4.3.0, and in **minikafka**, a Python twin with the same
# classes, the same methods, the same steps and the same bytes on disk. You step through the twin; Kafka itself says whether the twin is right.
# (The first cell has begun to wake Spark and Apache Kafka, which part 5 needs.)
#
# There are three doors. **Read:** predict, run, explain: to yourself, why a prediction was wrong; to somebody else, what you would do about
# the question at a lesson's end. **Rebuild:** write the methods of the log anew; your function runs inside the log, and
# Kafka judges it. **Exam:** write a whole log of your own, in one file, from the template [my_log.py](my_log.py); `minikafka exam my_log.py`
# compares it with Kafka's, question by question.
#
# **How much time have you?**
#
# - *Two hours:* parts 2, 3 and 5 of *Start here*, [High watermark](03-high-watermark.ipynb), and parts 1 to 4 of [The produce path](11-produce-path.ipynb). Stop there with profit: you know which records are safe, and what `acks` waits for.
# - *A day:* also [Records](01-records.ipynb), [Segments](02-segments.ipynb), [Append](04-append.ipynb) and [Read](06-read.ipynb).
# - *A week:* all lessons, by the door *Read*. *The whole:* with every function and every rung.

# %% [markdown]
# ## 2. A log directory with bare hands
#
# Back to `data/orders-0`. The broker was stopped, and nothing of Kafka runs now. What is there?

# %%
directory = Path("data/orders-0")
for file in sorted(directory.iterdir()):
    print(f"{file.stat().st_size:5} bytes  {file.name}")

# %% [markdown]
# Six **segments**: each is a `.log` with the records and two small files beside it that help to find things. The numbers in the names are
# offsets: the segment whose files begin with 15 holds the records from offset 15 on. (The topic's segments are tiny here. A broker's hold a gigabyte, unless told otherwise.
# Snapshots, `leader-epoch-checkpoint` and `partition.metadata` wait for later lessons.)
#
# The bytes of a `.log`:

# %%
data = (directory / "00000000000000000015.log").read_bytes()
print(data[:181])

# %% [markdown]
# There are the orders, in plain text: keys are names, values are JSON. The broker kept what the producer sent. The first 61 bytes
# belong to no record: they are the header of a **batch**. It begins with the offset of the batch's first record (8 bytes), and the number
# of bytes that follow (4 bytes). That is enough to walk through the file, from batch to batch:

# %%
from struct import unpack_from

position = 0
while position < len(data):
    base_offset, length = unpack_from(">qi", data, position)
    print(f"at byte {position:3}: a batch of {12 + length} bytes, its first offset is {base_offset}")
    position += 12 + length

# %% [markdown]
# Kafka's own tool for this is `kafka-dump-log`. Its twin, `minikafka dump-log`, prints the same, line for line:

# %%
import sys

from minikafka.tools.dump_log.dump_log_segments import DumpLogSegments, DumpOptions

DumpLogSegments(DumpOptions(), sys.stdout, sys.stderr).run(["data/orders-0/00000000000000000015.log"])

# %% [markdown]
# One more look at the list above: an `.index` there has 16 bytes. Now the same in a log that is open. It is new, and one record has been appended.
# An entry of an index has 8 bytes, and a segment's first batch gets none. A log that is open has its newest index mapped
# into memory, and a mapping has one size from beginning to end. `segment.index.bytes`, 10 MiB unless told otherwise, says how large an index may become.

# %%
log = fresh_log()
log.append_as_leader(records(1), leader_epoch=0)
index = Path(log.dir) / "00000000000000000000.index"

# %%
predict(
    "size-of-open-index",
    "One record in a new log, which is open. How many bytes does ls show for its .index?",
    ___,
    lambda: index.stat().st_size,
)

# %%
print("open: ", {file.name: file.stat().st_size for file in sorted(Path(log.dir).glob("0*"))})
log.close()
print("closed:", {file.name: file.stat().st_size for file in sorted(Path(log.dir).glob("0*"))})

# %% [markdown]
# Both indexes of the newest segment, the one that is written to, are made at their full size and mapped into
# memory; when the next segment begins or the log is closed, they are cut to what they hold. So `ls -l` on a running broker shows index files far larger than their
# `.log`, two for each partition. The lesson *Segments* shows what stands in an index.

# %% [markdown]
# ## 3. How a lesson works
#
# You have met **predict**: first you say what will happen, then it happens, then a wrong idea is called by its name. A right answer is pleasant; a wrong
# one is what you came for. The next one is about a log on one broker, with three records, just appended. A consumer reads from offset 0.

# %%
log = fresh_log()
log.append_as_leader(records(3), leader_epoch=0)
print("the next offset to be written:", log.log_end_offset)

# %%
from minikafka import FetchIsolation

predict(
    "records-consumer-gets",
    "Three records are appended. How many of them does a consumer get?",
    ___,
    lambda: len(values_of(log, FetchIsolation.HIGH_WATERMARK)),
)

# %% [markdown]
# The **ruler** shows a log as a line of offsets, with its marks. Move the slider: a frame is a moment.

# %%
ruler = OffsetRuler(log, "Three records, and who may read them").snap("appended")
log.update_high_watermark(3)
ruler.snap("the in-sync replicas have them, too: the high watermark goes up").play()

# %% [markdown]
# A consumer reads below the **high watermark** (HW), and the HW goes up only when all in-sync replicas have the records. In this log nobody had said so.
#
# The **stepper** runs a real method and stops at its numbered steps. Each frame shows the source, what has changed, and a link to the same
# method in Kafka's own source. Have Kafka's source open beside it.

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
# **Exercises** are functions to complete; [a second notebook](00-start-here-rebuild.ipynb) beside this one has two. `check` compares yours with the answers of a judge that did not read your code, and names the first
# difference; `hint()` helps, more from call to call; `solution()` shows one way.
#
# **Rungs** are methods of the log to write anew. Your function takes the place of the engine's method, for as long as a check runs. You can
# do the same by hand with `mine`. Here is an opinion about `LogSegment.should_roll`, the method that says when a new segment begins: always.

# %%
from minikafka.log.log_segment import LogSegment

with mine(LogSegment.should_roll, lambda self, roll_params: True):
    log = fresh_log()
    for number in range(3):
        log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
[segment.base_offset for segment in log.log_segments]

# %% [markdown]
# Each append began a segment of its own. Behind the `with` the engine is whole again. What Kafka says of such an opinion stands in part 5.
#
# A lesson has seven parts: the question, the picture, the rules, the source walked, three witnesses, exercises, and a box that says what is
# the same as in Kafka, what is simpler, and what is not shown. Exercises and rungs, the door *Rebuild*, have a notebook of their own beside the lesson's. An *Erratum* in a lesson sets what older texts say beside the source and a run.
#
# `make lab` (where there is no clone of the project: `minikafka lab`) opens a working copy of the lessons, so change what you like: `make fresh NOTEBOOK=02` restores a lesson
# and keeps yours beside it, `NOTEBOOK=02-segments-rebuild` its exercises and rungs.

# %% [markdown]
# ## 4. Where things stand in Kafka's source
#
# A name in minikafka is Kafka's name in snake_case, in a class of the same name. `UnifiedLog`, Kafka's main class, is called `Log` here, as Kafka itself called it up to 3.0. The
# docstring of each public method names its twin on a line `Kafka:`. From such a name to its line at tag 4.3.0 (in a shell, `minikafka source-map should_roll` prints the same for every name that has this word in it):

# %%
from minikafka.lab.stepper.kafka_lines import kafka_link

print(kafka_link("LogSegment.shouldRoll"))

# %% [markdown]
# Older texts, and most of those in Chinese, describe one large Scala file: `Log.scala` of Kafka 2.x. Its parts have moved since. `LogSegments` and `LogLoader` came out of it in 3.0; in 3.1 the
# rest was split in two, `UnifiedLog` and `LocalLog`. Today all of them are Java, in the module `storage`. This table leads from the old places to today's:
#
# | in `Log.scala` of 2.5 | in 4.3.0 | in minikafka | lesson |
# |:---|:---|:---|:---|
# | `segments`, a sorted map | `LogSegments.add`, `LogSegments.floorSegment`, `LogSegments.higherSegment` | `LogSegments` | Segments |
# | `maybeRoll`, `roll` | `UnifiedLog.maybeRoll`, `UnifiedLog.roll`, `LocalLog.roll` | `Log._maybe_roll`, `Log.roll`, `LocalLog.roll` | Segments |
# | `deleteOldSegments`, `deletableSegments` | `UnifiedLog.deleteOldSegments`, `UnifiedLog.deletableSegments` | the same, in `Log` | Segments |
# | `updateHighWatermark`, `maybeIncrementHighWatermark` | `UnifiedLog.updateHighWatermark`, `UnifiedLog.maybeIncrementHighWatermark` | the same, in `Log` | High watermark |
# | `convertToOffsetMetadataOrThrow` | `UnifiedLog.maybeConvertToOffsetMetadata`, `LocalLog.convertToOffsetMetadataOrThrow` | the same, in `Log` and `LocalLog` | High watermark |
# | `appendAsLeader`, `append` | `UnifiedLog.appendAsLeader`, `UnifiedLog.append`; then `LocalLog.append` | `Log._append`, `LocalLog.append` | Append |
# | `analyzeAndValidateRecords`, `LogValidator` | `UnifiedLog.analyzeAndValidateRecords`, `LogValidator.validateMessagesAndAssignOffsets` | the same | Append |
# | `analyzeAndValidateProducerState` | `UnifiedLog.analyzeAndValidateProducerState`, `ProducerStateManager.update` | the same | Producers and transactions |
# | `read` | `UnifiedLog.read`, then `LocalLog.read` | `Log.read`, `LocalLog.read` | Read |
# | `collectAbortedTransactions` | `LocalLog.collectAbortedTransactions` | the same | Read |
# | `fetchOffsetByTimestamp` | `UnifiedLog.fetchOffsetByTimestamp` | the same, in `Log` | Read |
# | `loadSegments`, `loadSegmentFiles`, `recoverLog` | `LogLoader.load`, `LogLoader.loadSegmentFiles`, `LogLoader.recoverLog` | `LogLoader` | Loading |
# | `loadProducerState`, `rebuildProducerState` | `UnifiedLog.rebuildProducerState` | the same, in `Log` | Loading |
# | `replaceSegments`, `splitOverflowedSegment` | `LocalLog.replaceSegments`, `LocalLog.splitOverflowedSegment` | the same, in `LocalLog` | Loading, Compaction |
# | `truncateTo`, `truncateFullyAndStartAt` | `UnifiedLog.truncateTo`, `UnifiedLog.truncateFullyAndStartAt`; then `LocalLog.truncateTo` | the same | Replication |
#
# And in files of their own, before as now: `LogManager`, `LogCleaner`, `LeaderEpochFileCache`, `ProducerStateManager`, and the indexes. The message classes of 0.10 (`MessageSet`,
# `FileMessageSet`) have successors of other names: `MemoryRecords` and `FileRecords`, whose parts the lesson *Records* opens.

# %% [markdown]
# ## 5. Three witnesses
#
# The same workload goes to three witnesses. **minikafka** runs it. **Spark** knows only the lines below, and works out by queries what must follow from
# them. **Apache Kafka** is the real `UnifiedLog` 4.3.0 inside Spark's JVM, with the same clock. (`[3x100]` is a batch of 3 records with values of 100 bytes, `leo` the log end offset:
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
# One line for each quantity, and who spoke of it. Spark says nothing where no rule of its own applies, and its silence is not counted as agreement.
#
# Now the opinion of part 3, *always roll*, once more, beside the two others. They know nothing of it. After which operation do the segments differ first? (Operations are counted from 0. A new log
# has one segment, which is empty.)

# %%
with mine(LogSegment.should_roll, lambda self, roll_params: True):
    other = run(workload, minikafka_log, scratch())
found = agree(other, spark, kafka)

# %%
predict(
    "rolling-differs-after",
    "Segments that roll at each append: after which operation do the witnesses differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
print(found.first_difference)

# %% [markdown]
# (`0:388` is a segment that begins at offset 0 and has 388 bytes.) That is how a rung is judged: your function, minikafka around it, Kafka beside it, and the first thing in which they differ. The tests of this
# project do the same with thousands of drawn workloads, and compare the directories file by file, byte by byte.

# %% [markdown]
# ## 6. Exercises
#
# They have a notebook of their own: [Start here: rebuild](00-start-here-rebuild.ipynb), the page on SQL windows, and two functions.

# %% [markdown]
# ## 7. The lessons, and your progress
#
# Each lesson is whole in itself, and says at its top what it needs. In this order they need nothing that has not been shown:
#
# - [01 Records](01-records.ipynb): what a batch is on disk, byte by byte
# - [02 Segments](02-segments.ipynb): how a log of any length is kept in files, found again, and forgotten
# - [03 High watermark](03-high-watermark.ipynb): which records are safe, and how leader and followers find out
# - [04 Append](04-append.ipynb): what a leader does with a batch before it is on disk
# - [05 Producers and transactions](05-producers-and-transactions.ipynb): how a retry makes no duplicate, and half a transaction is never read
# - [06 Read](06-read.ipynb): who may see what, and how few bytes are looked at for it
# - [07 Loading](07-loading.ipynb): how a directory of files becomes a log again
# - [08 Crash and recovery](08-crash-and-recovery.ipynb): what a crash can take, and what the next start cuts off and keeps
# - [09 Storage layer](09-storage-layer.ipynb): who keeps house in a log directory
# - [10 Compaction](10-compaction.ipynb): of each key the newest record
# - [11 The produce path](11-produce-path.ipynb): what `acks` waits for
# - [12 Replication and leader epochs](12-replication.ipynb): what a new leader keeps of an old one's records
# - [13 A log directory at scale](13-log-directory-at-scale.ipynb): the same questions, asked of terabytes
#
# The [glossary](glossary.md) has the course's words, with the Chinese ones (much of the best writing on this source is Chinese). Solutions lie in [solutions](solutions).
#
# In a working copy, what you predict, solve and rebuild is kept in `.progress.json`, beside the lessons: readable, and yours to delete. This cell draws
# the map of it. Come back and run it again.

# %%
my_progress()

# %% [markdown]
# ### Card
#
# - A partition is a directory of files. Its records lie in segments, and the number in a file's name is the offset with which the segment begins.
# - A producer sends its records in batches, and the broker does not take a batch apart when it reads. A batch begins with a header of 61 bytes.
# - For a read the broker finds the byte at which a batch begins, and sends the file from there on. The consumer drops what it has not asked for.
# - A consumer reads below the high watermark. That goes up only when all in-sync replicas have the records.
# - While a log is open, the two indexes of its newest segment have their full size. They are cut when the next segment begins or the log is closed.
#
# ![Segments of a log](../diagrams/segments.svg)
#
# | file | what it holds | lesson |
# |:---|:---|:---|
# | `.log` | the records, in batches | *Records*, *Segments* |
# | `.index` | offset → byte in the `.log` | *Segments* |
# | `.timeindex` | timestamp → offset | *Segments* |
# | `.txnindex` | aborted transactions; there is one only where there are any | *Read* |
# | `.snapshot` | what is known of producers before the offset in its name | *Producers and transactions* |
# | `leader-epoch-checkpoint` | which leader's epoch began at which offset | *Replication and leader epochs* |
# | `partition.metadata` | the topic's id | *Loading* |

# %% [markdown]
# **Next:** *Records*: the bytes of a batch.
