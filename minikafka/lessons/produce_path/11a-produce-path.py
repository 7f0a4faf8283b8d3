# %% [markdown]
# # The produce path
#
# *From the bytes of a request to the file: who decides, and what the answer is worth.*
#
# ## 1. The question
#
# **Time:** about fifty-five minutes to read, an hour to rebuild. **Before:** *High watermark*.
#
# **Afterwards you can decide:** which `acks` and `min.insync.replicas` your data need, and what an answer to a producer is worth.
#
# A partition has three replicas; broker 0 leads. All have record `a`. A producer sends `b` with `acks=all`: the leader should answer only when the others have `b`, too. What goes wrong without that wait? Here the leader answers at once. (`NONE` means success.)

# %%
from minikafka.lab import OffsetRuler, PathWalk, Replication, ___, diagram, erratum, planted, predict, step_through
from minikafka.lab.stage.produce_path import ProducePath
from minikafka.lab.stage.replica_witnesses import by_minikafka, three_witnesses, wake_witnesses

hasty = Replication(3, min_isr=2).committed("a")
with planted("acks=all is answered as soon as the leader has the records"):
    producer = hasty.append("b")
wake_witnesses()
OffsetRuler(hasty.log(0), "The leader's log").snap(f"b is appended, and its producer was told: {producer}").play()

# %%
hasty.crash(0)
got = hasty.consumed()

# %%
predict(
    "consumed-after-hasty-answer",
    "Broker 0 has died; broker 1 leads. How many of a and b does a consumer get?",
    ___,
    lambda: len(got),
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them.

# %%
print("the producer of b was told:", producer)
print("now broker", hasty.leader, "leads, and a consumer gets:", *got)

# %% [markdown]
# The producer was told that `b` is safe, and has forgotten it. No live broker has it. Now the same, but the leader waits. (`committed("a")` appends `a` and commits it.)

# %%
sound = Replication(3, min_isr=2).committed("a")
producer = sound.append("b")
print("the producer of b was told:", producer)
sound.crash(0)
print("now broker", sound.leader, "leads, and a consumer gets:", *sound.consumed(), " the producer:", producer)

# %% [markdown]
# The same record is gone, but the producer has no answer: it still holds `b`, and will send it again. **An acknowledgement is a promise. The produce path decides when the leader may give it.**
#
# ## 2. The picture

# %%
diagram("produce_path")

# %% [markdown]
# - **acks**: what the producer waits for: nothing (`0`), the leader's log (`1`), or the in-sync replicas, the **ISR** (`all`; −1 on the wire).
# - **min.insync.replicas**, here **the minimum**: how many replicas must be in sync for `acks=all`, the leader included.
# - **Required offset:** the offset after a request's last record in a partition. The high watermark has to reach it.
# - **Purgatory:** where a request with `acks=all` waits for the high watermark, for a limited time. The next lesson walks through it.
#
# ## 3. The rules
#
# 1. A request may bring records for many partitions. Each has its own result, and one response carries all results.
# 2. A partition takes one batch per request: all of it, or nothing.
# 3. With `acks=all` a partition takes nothing while fewer than the minimum are in sync.
# 4. Success with `acks=all` means: the high watermark has reached the required offset.
#
# The next cell shows each rule; `produce` asks for `acks=all` unless told otherwise. (`produce(("orders-0", "a b"))` sends broker 0 one batch of two records; `["c", "d"]` would be two batches. `in_sync()`: the followers fetch until each broker knows what the others have. Broker 0 leads.)

# %%
path = ProducePath(2, min_isr=2)
path.in_sync()
mixed = path.produce(("orders-0", "a b"), ("orders-9", "x"))
path.in_sync()
print("rule 1:", mixed)
print("rule 2:", path.produce(("orders-1", ["c", "d"])), path.values("orders-1"))
path.dies(1)
print("rule 3:", path.produce(("orders-0", "e")), path.values())
print("rule 4:", mixed.parts["orders-0"].base_offset + 2, "<=", path.log().high_watermark)

# %% [markdown]
# ## 4. The source, walked
#
# ### From the bytes to the file
#
# Which classes does a request pass? Six, at most: `KafkaApis` (in minikafka its part for produce requests is `ProduceHandler`), `ReplicaManager`, `Partition`, `Log` (Kafka: `UnifiedLog`), `LocalLog` and `LogSegment`. First, a request for only `orders-9`, which does not exist:

# %%
shop = ProducePath(2)
shop.in_sync()
handle = shop.cluster.brokers[0].apis.handle
DOWN = {"ProduceHandler.handle_produce_request", "ReplicaManager.append_records"}
DOWN |= {"Partition.append_records_to_leader", "Log.append_as_leader", "LocalLog.append", "LogSegment.append"}
lost = PathWalk(step_through(handle, shop.arrived(("orders-9", "x")), into=DOWN))

# %%
predict(
    "classes-request-reaches",
    "How many of the six classes does a request for orders-9 alone reach?",
    ___,
    lambda: len(lost.places[-1].visited),
)

# %% [markdown]
# Now a request that also has two records for `orders-0`. (`Log._append` runs as one step; the lesson *Append* walks through it.)

# %%
LOCALS = {"required_acks", "min_isr", "in_sync_size", "leader_hw_incremented", "last_offset", "physical_position"}
walk = step_through(handle, shop.arrived(("orders-0", "a b"), ("orders-9", "x")), watch=shop.log(), into=DOWN, locals_of_interest=LOCALS)
PathWalk(walk, pictured=[10]).play()

# %% [markdown]
# From version 13 on a request has topic ids, and `KafkaApis` first turns them into names (the requests here have names). Then it asks: may this user write to the topic? Does the partition exist? Is it one batch, in the right format? So no class after `KafkaApis` sees `orders-9`. `Partition` checks leadership and replicas **before** the append. With `acks=all` the last step of `append_records` lets the request wait: for the other replicas, not for a flush.

# %%
asked = step_through(handle, shop.arrived(("orders-0", "c"), acks=1), into={"ReplicaManager.handle_produce_append", "ReplicaManager.append_records"})
erratum(
    "The handler calls appendRecords",
    "it calls handleProduceAppend. For batches of a transaction, that first asks the transaction coordinator; then it calls appendRecords",
    " → ".join(dict.fromkeys(frame.method.name for frame in asked.frames)),
)

# %%
from minikafka.network.api_keys import ApiKeys

GONE = ("LEADER_AND_ISR", "STOP_REPLICA", "UPDATE_METADATA", "CONTROLLED_SHUTDOWN", "ENVELOPE", "ALLOCATE_PRODUCER_IDS")
served = [key.name for key in ApiKeys if key.in_scope("broker")]
erratum(
    "KafkaApis.handle also takes LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA, CONTROLLED_SHUTDOWN, ENVELOPE and ALLOCATE_PRODUCER_IDS",
    "no broker listens to any of them; brokers read from the metadata log who leads and who follows",
    f"{len(served)} APIs for brokers, of those six: {[name for name in GONE if name in served]}",
)

# %% [markdown]
# ### 0, 1, all
#
# Both brokers are in sync; broker 1 does not fetch at the moment:

# %%
acks = ProducePath(2, min_isr=2)
acks.in_sync()
for number in (0, 1, "all"):
    print(f"acks {number}:", acks.produce(("orders-0", f"record-{number}"), acks=number))
print(acks.values(), "high watermark", acks.log().high_watermark)

# %% [markdown]
# All three are stored alike. `acks` decides **when the producer is told**. Now broker 1 fetches until the third producer is told:

# %%
waiting, rounds = acks.posted[-1], []
while not waiting.request.done:
    acks.fetch(1)
    rounds.append(f"broker 1 has {acks.values(broker=1)}, high watermark {acks.log().high_watermark}, {waiting}")

# %%
predict(
    "fetches-until-told",
    "How many times did broker 1 fetch until the third producer was told?",
    ___,
    lambda: len(rounds),
)

# %%
print(*rounds, sep="\n")

# %% [markdown]
# The answer to the first fetch brings broker 1 all three records. Its next fetch asks for offset 3: only now does the leader know that they have arrived. The high watermark rises to 3, and the producer is told.
#
# ### Below the minimum
#
# Broker 1 dies and leaves the ISR: one replica is in sync, and the minimum is 2.

# %%
acks.dies(1)
alone = [acks.produce(("orders-1", f"record-{number}"), acks=number) for number in (0, 1, "all")]

# %%
predict(
    "records-in-orders-1",
    "How many of these three records are in the log of orders-1?",
    ___,
    lambda: len(acks.values("orders-1")),
)

# %%
print(*alone, sep="\n")
print(acks.values("orders-1"), "high watermark", acks.log("orders-1").high_watermark)

# %% [markdown]
# The minimum protects only producers that ask for it. With `acks=1` a producer writes on and is told `NONE`. But below the minimum the high watermark stands still, so no consumer sees these records yet. If broker 0 is lost now and an unclean election makes broker 1 the leader, they are gone.

# %%
single = ProducePath(1, min_isr=3)
erratum(
    "A partition with one replica and min.insync.replicas=3 refuses acks=all",
    "the minimum that counts is never larger than the number of replicas",
    f"one replica, min.insync.replicas=3: {single.produce(('orders-0', 'a'))}",
)

# %% [markdown]
# ### What acks=0 never tells
#
# A producer with `acks=0` expects no response. Its second request here is for two partitions, and one does not exist:

# %%
blind = ProducePath(2)
blind.in_sync()
blind.produce(("orders-0", "fine"), acks=0)
both = blind.produce(("orders-0", "a"), ("orders-9", "b"), acks=0)

# %%
predict(
    "second-request-answer",
    "What does the producer of the second request get? ('nothing', 'connection closed' or 'an error')",
    ___,
    lambda: both.answer,
)

# %%
print(*blind.posted, sep="\n")
print(blind.values())

# %% [markdown]
# After success, the producer gets nothing. After any failure the broker closes the connection, and only its server log says why; `a` was appended all the same. The client has already counted the records as sent. It now fetches new metadata.
#
# ### One response, many answers
#
# `orders-1` gets two batches. Broker 1, not broker 0, leads `orders-2`. `orders-9` and `letters-0` do not exist:

# %%
many = ProducePath(2)
many.in_sync()
answer = many.produce(("orders-0", "a"), ("orders-1", ["b", "c"]), ("orders-2", "d"), ("orders-9", "e"), ("letters-0", "f"), acks=1)
for name, part in sorted(answer.parts.items()):
    print(f"{name:10} {part.error:28} base offset {part.base_offset:2}  log start {part.log_start_offset}")

# %% [markdown]
# A client must read every answer: only `a` is in the log. Now a request names one partition twice. (Kafka's own clients never do that.) The handler puts what it will append into a map keyed by partition.

# %%
twice = many.produce(("orders-0", "p q"), ("orders-0", "r"), acks=1)
print(twice)

# %%
predict(
    "which-were-appended",
    "Which of p, q and r were appended? (a text, such as 'p q r')",
    ___,
    lambda: " ".join(value for value in many.values() if value in "pqr"),
)

# %%
odd = many.produce(("orders-1", "s"), ("orders-1", ["t", "u"]), acks=1)
print(many.values(), odd, many.values("orders-1"))

# %% [markdown]
# In a map the later entry replaces the earlier one: of `p q` and `r` only `r` was appended. Errors have a map of their own. `orders-1` is in both maps: `s` was appended, and the client is told `INVALID_RECORD`, because errors are put into the response last (exercise 2).
#
# **You have two hours? Stop here, after the question in part 7 and the card.** Its table has the answer for each `acks`. Time-outs are in [The produce purgatory](11b-produce-purgatory.ipynb), retries in [Producers and transactions](05-producers-and-transactions.ipynb).
#
# ## 5. Three witnesses
#
# The same requests go to **minikafka** and to **Apache Kafka**: its own `KafkaApis`, `ReplicaManager`, `Partition` and purgatory in a JVM, with the same clock. **Spark** works out from the lines alone where the log ends and when the leader answers `acks=all`. `change` is the controller's decision, `publish` tells a broker, `follow 1` lets broker 1 fetch once. (`[3x10]`: three records with values of 10 bytes.)

# %%
from minikafka.witness import agree
from minikafka.witness.replicas.workload import ReplicaWorkload

workload = ReplicaWorkload.parse("""
start 0
start 1
topic t 0,1 min.insync.replicas=2
publish 0
publish 1
produce 0 t-0 [3x10]
follow 1
follow 1
produce 0 acks=1 t-0 [1x10]
produce 0 acks=0 t-0 [1x10]
change t-0 isr=0
publish 0
produce 0 acks=1 t-0 [1x10]
produce 0 t-0 [1x10]
change t-0 isr=0,1
publish 0
follow 1
follow 1
produce 0 t-0 [1x10]
follow 1
follow 1
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %%
for number in (5, 7, 8, 12, 13, 17, 20):
    row = ours.rows[number]
    print(f"{number:2} {workload.operations[number]!s:28} log end {row['log_end_offset']}  mark {row['high_watermark']}  answered {row['answers']}")

# %% [markdown]
# An answer is a pair: the operation that asked, and an error. Spark knows only `acknowledged` and `timed_out`.
#
# Now a planted bug: the leader appends first, and checks the minimum afterwards. (Operation 5 is the first `produce`.)

# %%
with planted("the minimum is checked after the append"):
    sick = by_minikafka(workload)
found = agree(sick, spark, kafka)
at_operation = found.first_difference.operation

# %%
predict(
    "late-minimum-differs-after",
    "After which operation do the witnesses differ first?",
    ___,
    lambda: at_operation,
)

# %%
wrong = [name for name in ("answers", "log_end_offset") if sick.value(at_operation, name) != ours.value(at_operation, name)]

# %%
predict(
    "quantity-that-differs",
    "What does the bug change there? ('answers', 'log_end_offset' or 'both')",
    ___,
    lambda: wrong[0] if len(wrong) == 1 else "both",
)

# %%
print(found.first_difference)
print("log end:", *(f"{each.witness} {each.value(at_operation, 'log_end_offset')}" for each in (sick, spark, kafka) if each))

# %% [markdown]
# Spark and Kafka contradict minikafka about the end of the log. No answer shows this bug: the producer is told `NOT_ENOUGH_REPLICAS` as before. That says that nothing was appended, and the producer sends the record again.
#
# ## 6. Exercises
#
# [The produce path: rebuild](11a-produce-path-rebuild.ipynb) has two functions and three rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | bytes of requests and responses; order, errors and offsets in a response | no sockets, no threads | authorization, which by default allows everything |
# | the order of checks before the append | no metrics | quotas: a producer that is too fast is paused |
# | when the producer is told | the clock stands still | transactional batches, which ask a coordinator first |
#
# **A question to take along.** `UnderMinIsrPartitionCount` of a broker is above 0. Some producers report errors, others none. What do you check first?
#
# <details><summary>One answer</summary>
#
# The `acks` of those that report none. With `acks=all` a producer is told `NOT_ENOUGH_REPLICAS`; nothing of that partition's records is in the log, and it can send them again. With `acks=1` it is told `NONE`, and its new records may be on one broker only: no consumer sees them, and they can be lost with that broker. Then look which replicas have left the ISR: `kafka-topics.sh --describe --under-min-isr-partitions`.
#
# </details>

# %% [markdown]
# ### Card
#
# - `KafkaApis` refuses unknown partitions and bad batches itself. Six classes lead to the file.
# - Each partition of a request has its own result, and one response carries all results.
# - `acks` changes when the producer is told, not how a record is stored or replicated (below the minimum `all` is refused).
# - Success with `acks=all` means that the high watermark has reached the required offset. It does not mean that anything was flushed.
# - With `acks=0` a failure closes the connection; only the broker's server log says what failed.
#
# ![The way of a request](../diagrams/produce_path.svg)
#
# | `acks` | at least `min.insync.replicas` in sync | fewer |
# |:---|:---|:---|
# | `0` | appended; no answer | appended; no answer |
# | `1` | appended; `NONE` (success) at once | appended; `NONE` at once, but no consumer sees it yet |
# | `all` | appended; `NONE` once the high watermark has reached the required offset | nothing is appended: `NOT_ENOUGH_REPLICAS` |

# %% [markdown]
# **Next:** the produce purgatory: where a request with `acks=all` waits, who wakes it, and what a time-out means.
