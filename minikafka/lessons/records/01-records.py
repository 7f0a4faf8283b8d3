# %% [markdown]
# # Records
#
# *What a record batch is on disk, byte by byte, what its checksum covers, and what becomes of a batch later.*
#
# ## 1. The question
#
# **Time:** about fifty minutes to read, an hour and thirty-five minutes to rebuild. **Before:** you know what a topic, a partition and an offset are.
#
# **Afterwards you can decide:** what a record costs on disk, which damage a broker notices and when, and why timestamps in a log differ from those that were
# sent.
#
# A producer sends one record. Here is its batch, byte by byte. On the way bit 3 of byte 76 flips. What goes wrong if the log does not compare the checksum, and accepts every batch?

# %%
from minikafka.lab import ___, batch_of, batches_in, changed_fields, copied_log, diagram, erratum, flipped, fresh_log
from minikafka.lab import microscope, planted, predict, scratch, sent, step_through, three_witnesses, values_of, wake_witnesses
from minikafka.lessons.records.header_witnesses import three_headers
from minikafka.lessons.records.noticed_flips import who_notices
from minikafka.log.fetch_isolation import FetchIsolation

payment = batch_of("Ada pays 100 EUR")
damaged = flipped(payment, byte=76, bit=3)
wake_witnesses()
microscope(payment)

# %%
careless = fresh_log()
with planted("a batch's CRC is not compared"):
    careless.append_as_leader(damaged, leader_epoch=0)
[got] = values_of(careless, FetchIsolation.LOG_END)

# %%
predict(
    "amount-after-flip",
    "Ada pays 100 EUR. How many EUR does a consumer read in the damaged record?",
    ___,
    lambda: int(got.split()[2]),
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them.

# %%
print("byte 76 was", bytes(payment.buffer[76:77]).hex(), "and is", bytes(damaged.buffer[76:77]).hex())
print("a consumer reads:", got)

# %% [markdown]
# The log holds another record than the one that was sent: `1` is 31 in hexadecimal, `9` is 39, and the two differ in one bit. Now with the checksum:

# %%
log = fresh_log()
try:
    log.append_as_leader(damaged, leader_epoch=0)
except Exception as refused:
    print(type(refused).__name__, "- the log ends at", log.log_end_offset)
log.append_as_leader(payment, leader_epoch=0)
print("as it was sent:", values_of(log, FetchIsolation.LOG_END))

# %% [markdown]
# **A batch carries a proof that it is undamaged.** But the leader must write into each batch, for instance offsets. Is the proof still valid?

# %% [markdown]
# ## 2. The picture

# %%
diagram("records")

# %% [markdown]
# - **Record:** a key, a value, headers, a timestamp. Key and value may be null.
# - **Batch:** the records that a producer sends together. It is written, fetched, compressed and checked as a whole. Its **header** has 61 bytes.
# - **Delta:** a distance. A record holds its offset and timestamp as distances from the batch's base offset and base timestamp.
# - **Varint:** a whole number in as many bytes as it needs.
# - **CRC:** a checksum of 32 bits. Kafka's is CRC-32C.
# - **Magic:** the version of the format. Today's producers send 2; old logs also have 0 and 1.
# - **Control batch:** a batch for Kafka itself, for instance the end of a transaction. Applications do not see its record.
#
# A real broker wrote `data/orders-0`. Here are the batches of its files.

# %%
orders = copied_log("data/orders-0", {"internal.segment.bytes": 1000, "retention.ms": -1})
batches = batches_in(orders)
print(len(batches), "batches; the first has", batches[0].size_in_bytes, "bytes")

# %% [markdown]
# ## 3. The rules
#
# 1. The length field of a batch counts the bytes after it, 12 less than the whole. Batches lie end to end.
# 2. The CRC covers the bytes from the attributes to the end.
# 3. A record's offset is the base offset plus its delta. Deltas grow; none is above the last offset delta.
# 4. With CreateTime, the max timestamp is the largest timestamp of the records.
# 5. A batch that was never compacted has a record for each offset.

# %%
from minikafka.common.at_hand import crc32c  # the package crc32c, where there is one

data = [bytes(batch.buffer) for batch in batches]
offsets = [[record.offset for record in batch] for batch in batches]
print("rule 1:", all(int.from_bytes(each[8:12], "big") == len(each) - 12 for each in data))
print("rule 2:", all(int.from_bytes(each[17:21], "big") == crc32c(each[21:]) for each in data))
print("rule 3:", all(sorted(set(o)) == o and o[-1] <= b.last_offset for b, o in zip(batches, offsets)))
print("rule 4:", all(b.max_timestamp == max(record.timestamp for record in b) for b in batches))
print("rule 5:", all(b.count == b.last_offset - b.base_offset + 1 for b in batches))

# %% [markdown]
# ## 4. The source, walked
#
# ### Under the microscope
#
# The first batch of the orders, field by field.

# %%
microscope(batches[0])

# %% [markdown]
# Look at the first record (r0): its length, a byte of attributes that is always 0, then two deltas. All other numbers of a record are varints, too.
#
# ### Varints
#
# Seven bits of each byte hold the number; the eighth says whether another byte follows. First **zigzag** turns the signed number into an unsigned one.

# %%
from minikafka.record.format.varint import write_varint

for number in (0, -1, 1, -2, 2, 300, -300):
    out = bytearray()
    write_varint(number, out)
    print(f"{number:5} → {out.hex(' ')}")

# %%
predict(
    "varint-64-length",
    "How many bytes does the varint of 64 take?",
    ___,
    lambda: write_varint(64, found := bytearray()) or len(found),
)

# %% [markdown]
# Now a whole record, with an offset delta of 2, a timestamp delta of −5 ms and no key.

# %%
from minikafka.record.format.record import Header
from minikafka.record.format.record_writer import write_record

out = bytearray()
step_through(
    write_record, out, 2, -5, None, b"42 EUR", [Header("shop", b"7")], into={"write_record"}, locals_of_interest={"body"}
).play()

# %%
print(len(out), "bytes:", out.hex(" "))
erratum(
    "each message has its offset, its size, its own CRC, a magic byte and a timestamp",
    "that was magic 1 (LegacyRecord; magic 0 had no timestamp). In magic 2, since 0.11, DefaultRecord.writeTo writes only the size of these five",
    f"a record with a value of 6 bytes and a header of 5 takes {len(out)} bytes in all",
)

# %% [markdown]
# ### Offsets in place
#
# A producer does not know which offsets its batch will get, so it numbers from 0. A leader refuses any other batch from it. The log ends at 100.

# %%
log, twin = fresh_log(), fresh_log()
for each in (log, twin):
    each.truncate_fully_and_start_at(100)
as_sent = bytes(batch_of("one", "two", "three").buffer)
predict(
    "fields-changed-by-leader",
    "Three records come in at offset 100. In how many fields does the stored batch differ from the one sent?",
    ___,
    lambda: twin.append_as_leader(batch_of("one", "two", "three"), leader_epoch=4) and len(changed_fields(as_sent, batches_in(twin)[0].buffer).rows),
)

# %%
log.append_as_leader(batch_of("one", "two", "three"), leader_epoch=4)
print("offsets:", [record.offset for record in batches_in(log)[0]])
changed_fields(as_sent, batches_in(log)[0].buffer)

# %% [markdown]
# Both fields lie before the CRC: `DefaultRecordBatch.setLastOffset` and `setPartitionLeaderEpoch`
# write 12 bytes, and the leader writes no new CRC. Followers and consumers check the CRC that the producer wrote.

# %%
as_packed = bytes(sent("3x50 codec=gzip").buffer)
log.append_as_leader(sent("3x50 codec=gzip"), leader_epoch=4)
erratum(
    "the broker must unpack a compressed batch to give its messages their offsets, and packs it again",
    "since magic 1 inner offsets are relative; LogValidator.validateMessagesAndAssignOffsetsCompressed reads the records to "
    "check them, and keeps the packed bytes if codec and magic stay the same",
    f"a gzip batch at offset 103, fields changed: {len(changed_fields(as_packed, batches_in(log)[1].buffer).rows)}",
)

# %% [markdown]
# ### Timestamps
#
# A topic with `message.timestamp.type=LogAppendTime` stores the time of the append. The producer made the batch 5 seconds ago; the log again ends at 100.

# %%
log, stamped_twin = (fresh_log({"message.timestamp.type": "LogAppendTime"}, start_ms=1_700_000_005_000) for _ in range(2))
for each in (log, stamped_twin):
    each.truncate_fully_and_start_at(100)
stamped_twin.append_as_leader(batch_of("one", "two", "three"), leader_epoch=4)
predict(
    "fields-with-append-time",
    "With LogAppendTime, in how many fields does the stored batch differ from the one sent?",
    ___,
    lambda: len(changed_fields(as_sent, batches_in(stamped_twin)[0].buffer).rows),
)

# %%
log.append_as_leader(batch_of("one", "two", "three"), leader_epoch=4)
print("read:", [record.timestamp for record in batches_in(log)[0]])
changed_fields(as_sent, batches_in(log)[0].buffer)

# %% [markdown]
# The leader changed no record: a bit of the attributes says that all records have the batch's max timestamp. But the CRC covers attributes and max timestamp, so the leader computes a new one for each batch.

# %%
stored = batches_in(log)[0]
erratum(
    "with LogAppendTime the broker overwrites the timestamp of each message",
    "DefaultRecordBatch.setMaxTimestamp writes attributes, max timestamp and CRC; readers give every record the batch's max timestamp",
    f"base timestamp still {stored.base_timestamp}, max timestamp {stored.max_timestamp}",
)

# %% [markdown]
# ### Codecs
#
# A compressed batch has the same header, then one stream with all records.

# %%
for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
    packed = bytes(batch_of(*["the same words again"] * 20, codec=codec).buffer)
    print(f"{codec:6} attributes {packed[22]:03b}, {len(packed):3} bytes, the stream begins {packed[61:69].hex(' ')}")

# %% [markdown]
# Each stream begins with its format's mark: `1f 8b` is gzip, `82 53 4e 41` the frame in which Java packs
# snappy, `04 22 4d 18` lz4's frame, `28 b5 2f fd` zstd's.
#
# ### Control batches
#
# The transaction coordinator ends a transaction with a batch of one record in each partition. Its key holds a version and a type, its value a version and the coordinator's epoch.

# %%
microscope(next(iter(sent("commit pid=7 epoch=1 coordinator_epoch=3").batches())), "A commit marker")

# %% [markdown]
# ### After compaction
#
# One batch has the keys a, b, a, b: its last two records replace the first two. Now the log is compacted.

# %%
from minikafka.lab import log_after
from minikafka.witness import Workload

COMPACTED = "config cleanup.policy=compact min.cleanable.dirty.ratio=0\nappend_as_leader [4x10 keys=2]\n"
CLEANED = "roll leo\nupdate_high_watermark leo\nclean\n"
before = batches_in(log_after(Workload.parse(COMPACTED)))[0]
after = batches_in(log_after(Workload.parse(COMPACTED + CLEANED)))[0]
print("records before:", [record.offset for record in before])

# %%
predict(
    "base-offset-after-compaction",
    "Compaction removes records 0 and 1 of a batch from 0 to 3. What is its base offset afterwards?",
    ___,
    lambda: after.base_offset,
)

# %%
for when, batch in (("before", before), ("after", after)):
    fields = [batch.base_offset, batch.last_offset_delta, batch.count]
    print(f"{when:6} base offset, last offset delta, count: {fields}, records {[record.offset for record in batch]}")

# %% [markdown]
# The batch still stands for the offsets 0 to 3: base offset and last offset delta stay, the count falls. So a producer's last sequence can still be computed. The cleaner even keeps a batch without records, 61 bytes, if it is the last batch of an active producer:

# %%
idempotent = COMPACTED.replace("[4x10 keys=2]", "[2x10 keys=2 pid=7 epoch=0 seq=0]\nappend_as_leader [2x10 keys=2]")
empty = batches_in(log_after(Workload.parse(idempotent + CLEANED)))[0]
print(empty.size_in_bytes, "bytes,", empty.count, "records, offsets", empty.base_offset, "to", empty.last_offset)
print("the producer's last sequence:", empty.last_sequence)

# %% [markdown]
# ### Flip a bit
#
# Now a bit flips in one field of a batch: once on its way to the leader, once on disk. The header has 13 fields.

# %%
noticed = who_notices(lambda: batch_of("one", "two"))
predict(
    "flips-that-pass",
    "In how many of the 13 header fields does the leader not notice a flipped bit?",
    ___,
    lambda: sum(row[1] == "nobody" for row in noticed.rows[:13]),
)

# %%
noticed

# %% [markdown]
# - **append:** only a flip in the leader epoch passes, because the leader overwrites it. A base offset other than 0 is refused because a client must count from 0.
# - **log end after a recovery:** three batches, six records; the second batch is damaged, and the broker was killed. If its CRC or length is wrong, the recovery cuts the log before it: the third batch is lost, too. A flip in base offset, leader epoch or magic may stay unnoticed.
# - **values that are read:** what a reader gets who does not compare the CRC. Consumers compare it (`check.crcs`), and so do followers when they append. A leader that
#   serves a fetch does not, and a clean start does not.

# %% [markdown]
# ## 5. Three witnesses
#
# **minikafka** runs the workload. **Spark** knows only its lines, and computes each batch's header from sizes, varints and offsets. **Apache Kafka**, the real `UnifiedLog` 4.3.0, runs inside Spark's JVM with the same clock.
# (`[3x10]` is a batch of 3 records with values of 10 bytes, `ts` gives timestamps, `keys=2` two different keys; `reopen clean=false` is a kill and a start.)

# %%
from minikafka.witness import agree, minikafka_log, run

workload = Workload.parse("""
config message.timestamp.type=LogAppendTime
append_as_leader [3x10]
append_as_leader [2x64,null ts=now-5000,now-70 keys=2]
tick 500
append_as_leader leader_epoch=4 [2x200 ts=now-5,now-90]
reopen
reopen clean=false
""")
agree(*three_headers(workload))

# %% [markdown]
# Each line is a field of the header. Spark has read no byte of the log.
#
# We plant a bug: the log writes the time of the append into the batch, and leaves the CRC as it came. (`config` is not an operation; operation 0 is the first append, 4 a clean start, 5 the start after a kill.)

# %%
ours, spark, kafka = three_witnesses(workload)
with planted("a timestamp is written without a new CRC"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "stale-crc-differs-after",
    "After which operation does the log with the stale CRC differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "stale-crc-log-end",
    "At which offset does that log end after the last operation?",
    ___,
    lambda: sick.value(5, "log_end_offset"),
)

# %%
print("log ends, operation by operation:", sick.column("log_end_offset"))
print("without the bug:                 ", ours.column("log_end_offset"))
print(found.first_difference)

# %% [markdown]
# The log had seven records, all readable. The kill destroyed none of them; the recovery removed them all, because it trusted the CRC.
#
# ## 6. Exercises
#
# [Records: rebuild](01-records-rebuild.ipynb) has four functions and six rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | every byte of a batch, compressed or not, of markers, and of what compaction writes | a Python built with another zlib than Kafka's JVM writes other gzip bytes for the same records | magic 0 and 1, which minikafka reads as well |
# | the attribute bits, the CRC, which fields a leader changes in place | a batch's header is unpacked at once, not field by field | control records of the metadata log (snapshots, voters) |
# | who notices damage, and by which exception | | zero copy, the way in which a fetch sends a file's bytes |
#
# *What Spark is told:* the lines of the appends, and each record's timestamp, key size and value size.
#
# **A question to take along.** After a power cut your broker shows *Found invalid messages* for a partition, and the log is shorter than before. The disk reports no
# error. What do you check first?
#
# <details><summary>One answer</summary>
#
# Were the batches ever whole? If you have a copy of the log from before the start, `minikafka dump-log` prints each batch, and whether its CRC is right. A power cut often leaves a torn last batch. A wrong CRC before sound batches may come from memory, disk, or pages written out of order. The recovery removed those sound batches, too; other replicas may have them. So compare log ends before this broker may lead.
#
# </details>

# %% [markdown]
# ### Card
#
# - A batch is written, fetched, compressed and checked as a whole. Its header has 61 bytes, compressed or not.
# - The CRC covers the bytes from the attributes to the end of the batch.
# - A record holds its offset and its timestamp as distances from the batch's base values. Its numbers are varints: −64 to 63 take one byte.
# - A leader writes base offset and leader epoch into the batch and leaves the producer's CRC. With `LogAppendTime` it computes a new one.
# - Leaders and followers compare the CRC when they append, consumers when they read (`check.crcs`, by default on). A leader that serves a fetch does not, and a clean start does not.
#
# ![A record batch](../diagrams/records.svg)
#
# | field of the header | bytes | under the CRC? |
# |:---|:---|:---|
# | `baseOffset` | 0–7 | no |
# | `batchLength`: the bytes that follow it | 8–11 | no |
# | `partitionLeaderEpoch` | 12–15 | no |
# | `magic` | 16 | no |
# | `crc` | 17–20 | no |
# | `attributes` | 21–22 | yes |
# | `lastOffsetDelta` | 23–26 | yes |
# | `baseTimestamp`, `maxTimestamp` | 27–34, 35–42 | yes |
# | `producerId`, `producerEpoch`, `baseSequence` | 43–50, 51–52, 53–56 | yes |
# | `recordsCount` | 57–60 | yes |

# %% [markdown]
# **Next:** *Segments*, the files in which batches lie.
