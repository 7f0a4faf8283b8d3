# %% [markdown]
# # Tombstones and markers
#
# *How long a compacted log remembers that a key was deleted, and how a transaction ended.*
#
# ## 1. The question
#
# **Time:** about forty minutes to read, fifty-five minutes to rebuild. **Before:** *Producers and transactions*; *Read isolation*; *Compaction*.
#
# **Afterwards you can decide:** how long a consumer of a compacted topic may be away, when a deletion leaves the disk, and what a transaction leaves there.
#
# A **tombstone** is a record with a key and no value: it deletes the key. What goes wrong if a cleaner removes it too early? A slow consumer has read `a=1` and `b=1`. Then `a` is deleted (`-a`), and a cleaner takes two turns. `delete.retention.ms` is 0.

# %%
from minikafka.lab import Cleaning, CompactionShelves, ___, fresh_log, predict, wake_witnesses
from minikafka.lab.stage.tables import rows, table, write

log = fresh_log({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.1, "delete.retention.ms": 0})
write(log, "a=1 b=1")
slow, shelves = table(log), CompactionShelves(log, "A deletion and two turns")
for caption, words in (("first turn", "-a"), ("second turn", "c=1")):
    write(log, words, roll=True)
    shelves.around(caption, Cleaning(log).turn)
wake_witnesses()
shelves.play()

# %%
predict(
    "slow-consumer-value-a",
    "The slow consumer reads on from offset 2. Which value of a does it have at the end? (a text, or None)",
    ___,
    lambda: table(log, start=2, so_far=slow).get("a"),
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them. (`table(log)`: what a consumer knows after it has read from the beginning; later records replace earlier ones of their key. `Cleaning(log).turn()`: a cleaner cleans once.)

# %%
print("the slow consumer:", table(log, start=2, so_far=slow), " a new consumer:", table(log))

# %% [markdown]
# The slow consumer gets no error, and the gap is no warning: every compacted log has gaps. It keeps a row that nobody else has. **Some records are no rows of the table, and must stay for a time because a reader still needs them.**
#
# ## 2. The picture

# %%
from minikafka.lab import cleaned_by_both, diagram, erratum, planted, scratch, step_through, three_witnesses

diagram("tombstones")

# %% [markdown]
# - **Delete horizon:** from this time on a cleaner may remove a tombstone or a marker. The header of its batch has it (in pictures ◆).
# - **Marker:** the record that ends a transaction, with commit (`C`) or abort (`A`).
# - **Header:** what comes before the records in a batch: offsets, producer, sequence number. A header can stay without any record.
# - **Offset map:** key → offset of its newest record. A cleaner fills it before it writes anything.
#
# ## 3. The rules
#
# 1. A tombstone that is the newest record of its key stays until its delete horizon.
# 2. A record of an aborted transaction goes, and replaces no other record.
# 3. A marker stays as long as any batch of its transaction.
# 4. Reading the committed records of the log from its beginning gives the same table after a cleaning as before.
# 5. A cleaning does not change log start, high watermark, log end, or what the log knows of its producers.
#
# The next cells check them. (`transaction="abort"`: the batch is a transaction that is aborted.)

# %%
HOUR = 3_600_000
SMALL = {"cleanup.policy": "compact", "internal.segment.bytes": 260, "min.cleanable.dirty.ratio": 0.1, "delete.retention.ms": HOUR}
settings = fresh_log(SMALL)
for batch in ("a=1 b=1", "c=1 a=2", "-b d=1", "a=3 e=1"):
    write(settings, batch)
write(settings, "c=9 d=9", producer=7, transaction="abort")
write(settings, "f=1 a=4")
known, offsets, producers = table(settings), settings.fetch_offset_snapshot(), str(settings.producer_state_manager.active_producers)

# %%
shelves = CompactionShelves(settings, "Three segments and a cleaning")
shelves.around("first turn", Cleaning(settings).turn)
batches = [batch for segment in settings.log_segments for batch in segment.log.batches()]
print("rule 1:", (4, "b", None) in rows(settings))
print("rule 2:", (2, "c", "1") in rows(settings))
print("rule 3:", [batch.is_control_batch for batch in batches if batch.producer_id == 7])
print("rule 4:", table(settings) == known, known)
print("rule 5:", settings.fetch_offset_snapshot() == offsets, str(settings.producer_state_manager.active_producers) == producers)
shelves.play()

# %% [markdown]
# Above is the log before, below the log after. Part 4 explains why `−b` is still there, why `c=1` has survived `c=9`, and what is left of the aborted transaction.
#
# ## 4. The source, walked
#
# ### The three stages of a tombstone
#
# At noon a tombstone of `a` is written at offset 2. Two hours later a cleaner cleans for the first time; `delete.retention.ms` is one hour.

# %%
aged = fresh_log(SMALL)
noon = aged.time.milliseconds()
write(aged, "a=1 b=1")
away = table(aged)
write(aged, "-a", roll=True)
aged.time.sleep(2 * HOUR)
cleaning, shelves = Cleaning(aged), CompactionShelves(aged, "The stages of a tombstone")
turn = shelves.around("first turn", cleaning.turn)
horizons = {batch.base_offset: batch.delete_horizon_ms for batch in aged.log_segments[0].log.batches()}

# %%
predict(
    "hours-until-tombstone-goes",
    "How many hours after noon may a cleaner first remove the tombstone?",
    ___,
    lambda: (horizons[2] - noon) // HOUR,
)

# %%
print("in the log:", rows(aged))
print("delete horizons, in hours after noon:", {base: horizon and (horizon - noon) / HOUR for base, horizon in horizons.items()})
diagram("compaction_tombstone")

# %% [markdown]
# The first cleaning that keeps a tombstone gives its batch a delete horizon. (In part 3 `d=1` had the sign ◆, too, because it is in the batch of `−b`. At the horizon only tombstones and markers go.) Two more turns, each after new records:

# %%
for words, caption, wait in (("c=1 d=1", "a millisecond before the horizon", HOUR - 1), ("c=2 d=2", "at the horizon", 1)):
    aged.time.sleep(wait)
    write(aged, words, roll=True)
    shelves.around(caption, cleaning.turn)
    print(f"{caption}: {rows(aged)}\n   a consumer away since noon has {table(aged, start=2, so_far=away)}")
shelves.play()

# %%
erratum(
    "A tombstone stays while its segment's file is younger than a horizon that is worked out from the last clean segment's file",
    "that is so for batches of magic 0 and 1. A batch of magic 2 carries its own horizon: the time of the first cleaning that kept the tombstone + delete.retention.ms",
    f"a millisecond before the horizon: there; at the horizon: {'there' if 2 in [offset for offset, _, _ in rows(aged)] else 'gone'}",
)

# %% [markdown]
# **A consumer that keeps a table must always be less than `delete.retention.ms` behind.** If it was not, it must read again from the beginning.
#
# ### How soon a cleaner comes
#
# A cleaner does not clean a log until its dirty ratio is above `min.cleanable.dirty.ratio`, so the first cleaning may come late. `max.compaction.lag.ms` makes a log cleanable at any ratio, if the first batch of a dirty segment is older than that (the active segment does not count).
#
# With `min.compaction.lag.ms` a cleaning ends before the first segment that has a record younger than that. A consumer that is less than that behind sees every record, if timestamps are close to the time of the append. `grab` returns the log to clean, or None:

# %%
lag = {"min": fresh_log({"cleanup.policy": "compact", "min.compaction.lag.ms": HOUR}, name="young-0")}
lag["max"] = fresh_log({"cleanup.policy": "compact", "max.compaction.lag.ms": HOUR}, name="late-0")
write(lag["max"], f"a={'x' * 900}", roll=True)
Cleaning(lag["max"]).turn()
for name, lagging in lag.items():
    write(lagging, "b=1", roll=True)
    for wait in (HOUR - 1 if name == "min" else HOUR, 1):
        lagging.time.sleep(wait)
        print(f"{name}.compaction.lag.ms:", Cleaning(lagging).grab())

# %% [markdown]
# ### Transactions
#
# Six batches: one without a producer id; producer 7's, then its abort marker; producer 8's, then its commit marker; one with newer rows of all keys.

# %%
mixed, twin, walked = (fresh_log(SMALL) for _ in range(3))
for each in (mixed, twin, walked):
    write(each, "a=1 b=1")
    write(each, "a=9 b=9", producer=7, transaction="abort")
    write(each, "b=2 c=2", producer=8, transaction="commit")
    write(each, "a=3 b=3 c=3", roll=True)
print([(batch.base_offset, batch.last_offset) for segment in mixed.log_segments for batch in segment.log.batches()])

# %%
predict(
    "batches-after-one-turn",
    "How many of the six batches are left after a turn?",
    ___,
    lambda: Cleaning(twin).turn() and sum(1 for segment in twin.log_segments for _ in segment.log.batches()),
)

# %% [markdown]
# First the cleaner fills the offset map. Then `_filter_batch` decides about each batch; the steps show the four batches of the transactions. If no record of a batch stays, `DELETE_EMPTY` removes the batch, and `RETAIN_EMPTY` keeps its header. `places`: which records stay.

# %%
step_through(Cleaning(walked).turn, into={"Cleaner.build_offset_map", "_filter_batch"}, locals_of_interest={"batch_retention", "places"}).play()

# %% [markdown]
# Each data batch is the last one of its producer. The log needs its sequence numbers to recognise a duplicate, so its header stays, and with it the marker. (This holds for transaction versions 0 and 1. A marker of version 2, the default since 4.0, brings a new epoch, which begins at 0: the log needs no older number, and the header goes.)
#
# Five turns, each after a new segment: now; after producer 7 has committed another transaction; once more; an hour later; a day later. The abort marker is at offset 4.

# %%
cleaning, shelves = Cleaning(mixed), CompactionShelves(mixed, "Two transactions")
shelves.around("1. a first turn", cleaning.turn)
write(mixed, "d=7", producer=7, transaction="commit", roll=True)
told = []
for caption, wait in (("2. producer 7 has written again", 0), ("3. once more", 0), ("4. an hour later", HOUR), ("5. a day later", 24 * HOUR)):
    mixed.time.sleep(wait)
    shelves.around(caption, cleaning.turn)
    aborted = sum(len(segment.txn_index.all_aborted_txns()) for segment in mixed.log_segments)
    told.append(f"{caption:32} aborted transactions in the indexes: {aborted}, producers: {[*mixed.producer_state_manager.active_producers]}")
    write(mixed, "e=1", roll=True)

# %%
predict(
    "turn-removes-marker",
    "Which of the five turns removes the abort marker? (1 to 5)",
    ___,
    lambda: next(turn for turn, frame in enumerate(shelves.frames[1::2], 1) if "kind='abort'" not in repr(frame.after)),
)

# %%
print(*told, sep="\n")
shelves.play()

# %%
erratum(
    "Of each key exactly the newest record survives",
    "only in the part that is cleaned, and aborted records do not count. Tombstones, markers and empty batches stay for a time",
    f"after the first turn: {shelves.frames[1].after[0]}",
)

# %% [markdown]
# 1. Each producer's last batch keeps its header. A marker stays while anything of its transaction is left.
# 2. Producer 7 has a newer batch, so the old header goes.
# 3. Nothing of the aborted transaction is left. Its marker gets a horizon, and its entry in the `.txnindex` goes.
# 4. At the horizon the marker goes. The next turn joins the empty segment 0 with its neighbour.
# 5. The log has forgotten both producers (`producer.id.expiration.ms`), so producer 8's header goes.
#
# Aborted records never get into the offset map. They go when a cleaner first rewrites their segment, even if the map became full before them.
#
# ## 5. Three witnesses
#
# **minikafka**, **Spark** and **Apache Kafka** run the same workload: Spark from the lines alone, Kafka with its own `LogCleaner` at `clean`. The second cell compares every file of minikafka and Kafka. (`keys=3 data=1`: three keys in turn, beginning with the second. `null` makes a tombstone.)

# %%
from minikafka.witness import Workload, agree, minikafka_log, run

workload = Workload.parse("""
config cleanup.policy=compact delete.retention.ms=1000 min.cleanable.dirty.ratio=0
append_as_leader [3x10 keys=3]
append_as_leader [2x10 keys=3 data=1]
append_as_leader [1x10 keys=3 data=0 pid=7 epoch=0 seq=0 txn]
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
append_as_leader [1xnull keys=3 data=1]
roll
maybe_increment_high_watermark leo
consume start
clean
consume start
append_as_leader [1x10 keys=3 data=2]
roll
maybe_increment_high_watermark leo
tick 1000
clean
consume start
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %%
print(*(f"{number:2} {workload.operations[number]}: {ours.value(number, 'result')}" for number in (7, 8, 9, 14, 15)), sep="\n")
cleaned_by_both(workload)

# %% [markdown]
# Now a planted bug: minikafka puts aborted records into the offset map. (Operation 0 is the first append; operation 2 appends the aborted record.)

# %%
with planted("an aborted record counts as the newest of its key"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "compaction-differs-after",
    "After which operation do minikafka and another witness differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "compaction-contradicted-by",
    "How many witnesses contradict minikafka about what the consumer of operation 9 sees? (1 or 2)",
    ___,
    lambda: sum(witness.value(9, "result") != sick.value(9, "result") for witness in (spark, kafka) if witness),
)

# %%
print(found.first_difference)
print("operation 9, a consumer sees", sick.value(9, "result"), " and should see", spark.value(9, "result"))

# %% [markdown]
# The cleaner removed the row of `key-0` at offset 0 because of the record at 5, and that one, too, because it was aborted. A live row is lost, and no reader gets an error.
#
# ## 6. Exercises
#
# [Tombstones and markers: rebuild](10b-tombstones-and-markers-rebuild.ipynb) has two functions and three rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | what stays and what goes, to the byte | one cleaner, its turns taken by hand; Kafka runs `log.cleaner.threads` | batches of magic 0 and 1, whose horizon comes from a file's time |
# | delete horizons, in the header of each batch | no metrics | compressed batches: rewritten with the same codec |
# | what the cleaner knows of aborted transactions | new buffers for each batch | `compact,delete`: a turn also deletes old segments, whatever they hold |
#
# *What Spark is told:* the bytes of a batch, from the record builder.
#
# **A question to take along.** A search index is built from a compacted topic. It still finds articles that were deleted weeks ago. What do you check first?
#
# <details><summary>One answer</summary>
#
# Was the indexer ever `delete.retention.ms` or more behind: stopped, or set back to an old backup with an old offset? Then it may have missed tombstones, and must read again from the beginning into an empty index. If it was not: does it handle a record without a value? And does the program that deletes an article write a tombstone with the article's own key?
#
# </details>

# %% [markdown]
# ### Card
#
# - A consumer that keeps a table must always be less than `delete.retention.ms` behind. If it was not, it must read again from the beginning.
# - The clock of a tombstone starts at the first cleaning that keeps it. That cleaning may come late: only `max.compaction.lag.ms` makes it come at any dirty ratio.
# - Aborted records never get into the offset map: they go, and replace no other record.
# - A marker stays as long as anything of its transaction is left, then until its own horizon.
# - While the log remembers a producer, the header of the producer's last batch stays: the log needs its sequence number to recognise a duplicate. (A marker of transaction version 2 ends this: it brings a new epoch.)
#
# ![The three stages of a tombstone](../diagrams/compaction_tombstone.svg)
#
# | in the part that is cleaned | what becomes of it |
# |:---|:---|
# | a tombstone, the newest of its key | gets a delete horizon; goes at the first cleaning at or after that time |
# | a record of an aborted transaction | goes, newest or not, and replaces no other record |
# | a marker | stays as long as anything of its transaction is left; then it gets a horizon, and goes; its header stays if nothing else tells its producer's epoch |
# | a producer's last batch, if no record of it is left | its header stays until the producer writes again, gets a new epoch, or is forgotten |
# | the batch that ends right below the first uncleanable offset, if no record of it is left | its header stays for that round |

# %% [markdown]
# **Next:** *The produce path*: from a producer's request to the append.
