# %% [markdown]
# # The produce path
#
# *From the bytes of a request to the file and back: who decides, and what the answer is worth.*
#
# ## 1. The question
#
# **Time:** forty-five minutes to read, an hour and a half to rebuild. **Before:** *High watermark* and *Append*.
#
# **Afterwards you can decide:** which `acks` and `min.insync.replicas` your data need, what a producer's error means, and where a slow request waits.
#
# A partition has three replicas; broker 0 leads. All have record `a`. A producer sends `b` with `acks=all`: the leader should answer only when the others have `b`, too. What goes wrong without that wait? Here the leader answers at once.

# %%
from minikafka.lab import OffsetRuler, PathWalk, Replication, ___, diagram, erratum, planted, predict, step_through
from minikafka.lessons.produce_path.minimum_over_time import MinimumOverTime
from minikafka.lessons.produce_path.produce_path import ProducePath
from minikafka.lessons.produce_path.purgatory_boxes import PurgatoryBoxes
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
    "NONE means success. Broker 0 has died; broker 1 leads. How many of a and b does a consumer get?",
    ___,
    lambda: len(got),
)

# %% [markdown]
# Two ways through this page. **Read:** predict, run, explain. **Rebuild:** the notebook beside it. A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them.

# %%
print("the producer of b was told:", producer)
print("now broker", hasty.leader, "leads, and a consumer gets:", *got)

# %% [markdown]
# The producer was told that `b` is safe, and has forgotten it. No broker that is alive has it. The same with the wait (`committed("a")` appends `a` and commits it):

# %%
sound = Replication(3, min_isr=2).committed("a")
producer = sound.append("b")
print("the producer of b was told:", producer)
sound.crash(0)
print("now broker", sound.leader, "leads, and a consumer gets:", *sound.consumed(), " the producer:", producer)

# %% [markdown]
# The same record is gone, but the producer has no answer: it still holds `b`, and will send it to broker 1. **An acknowledgement is a promise. The produce path decides when the leader may give it.**
#
# ## 2. The picture

# %%
diagram("produce_path")

# %% [markdown]
# - **acks**: what the producer waits for: nothing (`0`), the leader's log (`1`), or the in-sync replicas (`all`; −1 on the wire).
# - **min.insync.replicas**, here **the minimum**: how many replicas must be in sync for `acks=all`, the leader included.
# - **Required offset:** the offset after a request's last record in a partition. The high watermark has to reach it.
# - **Purgatory**: where a request waits, under one **key** for each of its partitions, and in a **timer**.
#
# ## 3. The rules
#
# 1. A request may bring records for many partitions. Each has its own result, and one response tells them all.
# 2. A partition takes the one batch that it is sent, or nothing.
# 3. With `acks=all` a partition takes nothing while fewer than the minimum are in sync.
# 4. Success with `acks=all` means: the high watermark has reached the required offset.
# 5. A request that waits is answered when its time is over, at the latest. No answer takes its records out of the log again.
#
# Here they are. (`produce(("orders-0", "a b"))` sends broker 0 one batch of two records; `["c", "d"]` would be two batches. `fetch(1)`: broker 1 fetches once.)

# %%
path = ProducePath(2, min_isr=2)
path.in_sync()
mixed = path.produce(("orders-0", "a b"), ("orders-9", "x"))
path.fetch(1)
path.fetch(1)
print("rule 1:", mixed)
print("rule 2:", path.produce(("orders-1", ["c", "d"])), path.values("orders-1"))
print("rule 4:", mixed.parts["orders-0"].base_offset + 2, "<=", path.log().high_watermark)

# %%
late = path.produce(("orders-0", "e"), timeout_ms=50)
path.sleep(50)
print("rule 5:", late, path.values())
path.dies(1)
print("rule 3:", path.produce(("orders-0", "f")), path.values())

# %% [markdown]
# ## 4. The source, walked
#
# ### From the bytes to the file
#
# Which classes does a request pass? Six, at most: `KafkaApis` (in minikafka its part for produce requests is `ProduceHandler`), `ReplicaManager`, `Partition`, `Log` (Kafka: `UnifiedLog`), `LocalLog` and `LogSegment`. First, a request for `orders-9` alone, a partition that does not exist:

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
# Now with two records for `orders-0`. (`Log._append` runs as one step; the lesson *Append* walks through it.)

# %%
LOCALS = {"required_acks", "min_isr", "in_sync_size", "leader_hw_incremented", "last_offset", "physical_position"}
walk = step_through(handle, shop.arrived(("orders-0", "a b"), ("orders-9", "x")), watch=shop.log(), into=DOWN, locals_of_interest=LOCALS)
PathWalk(walk, pictured=[10]).play()

# %% [markdown]
# `KafkaApis` turns the topic id into a name, then asks: may this user write to the topic? Does the partition exist? Is it one batch, in the right format? So no class below sees `orders-9`. `Partition` checks leadership and replicas **before** the append. By default no answer waits for a flush. The last step of `append_records` makes the request wait.

# %%
asked = step_through(handle, shop.arrived(("orders-0", "c"), acks=1), into={"ReplicaManager.handle_produce_append", "ReplicaManager.append_records"})
erratum(
    "The handler calls appendRecords",
    "it calls handleProduceAppend, which asks the transaction coordinator where a batch belongs to a transaction; then comes appendRecords",
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
# All three are stored alike. `acks` decides **when the producer is told**, with one exception. Broker 1 dies and leaves the ISR: one replica is in sync, and the minimum is 2.

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
# The minimum protects only producers that ask for it. With `acks=1` a producer writes on and is told `NONE`. But below the minimum the high watermark stands still, so no consumer sees these records yet.

# %%
single = ProducePath(1, min_isr=3)
erratum(
    "With fewer than min.insync.replicas in sync, acks=all is refused",
    "the minimum is never more than the partition has replicas",
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
# After success, the producer gets nothing. After any failure the broker closes the connection and does not say what failed; `a` was appended all the same. The client then fetches new metadata. It has already counted the records as sent.
#
# ### The box
#
# Each answer to a follower's fetch holds one batch here, of one partition. Both requests wait:

# %%
boxes = PurgatoryBoxes(ProducePath(2, min_isr=2, narrow=True))
world = boxes.path
world.in_sync()
first = boxes.after("request 1: orders-0 and orders-1", world.produce, ("orders-0", "a b"), ("orders-1", "x"), timeout_ms=500)
second = boxes.after("request 2: orders-0 and orders-9", world.produce, ("orders-0", "c"), ("orders-9", "y"), timeout_ms=300)
boxes.after("broker 1 fetches", world.fetch, 1)
boxes.after("broker 1 fetches again", world.fetch, 1)
print("high watermarks:", world.log("orders-0").high_watermark, "and", world.log("orders-1").high_watermark)

# %%
predict(
    "request-answered-now",
    "Which of the two requests is answered now? (1, 2, 'both' or 'neither')",
    ___,
    lambda: {(True, True): "both", (True, False): 1, (False, True): 2}.get((first.request.done, second.request.done), "neither"),
)

# %%
for number in (3, 4):
    boxes.after(f"broker 1 fetches, round {number}", world.fetch, 1)
boxes.play()

# %% [markdown]
# A request is a box with a label for each partition that `KafkaApis` has let pass. A label is ticked when its high watermark has reached the required offset; the box opens when all are ticked. `orders-9` was refused at once, but its producer learns it only with the rest: **one response, so the slowest partition decides.**
#
# A change in a partition checks only the boxes under its key. Here is the way back of a request with one record:

# %%
back = ProducePath(2, min_isr=2)
back.in_sync()
waiting = back.produce(("orders-0", "a"))
back.fetch(1)
BACK = {"Partition.update_follower_fetch_state", "Partition._maybe_increment_leader_hw", "DelayedProduce.try_complete", "DelayedOperation.force_complete"}
walk = step_through(back.fetch, 1, into=BACK, locals_of_interest={"leader_hw_incremented", "has_enough"})
print(waiting)

# %%
PathWalk(walk).play()

# %% [markdown]
# The first fetch takes the record along. The second asks for what follows, and so tells the leader that the record has arrived. It covers both partitions that broker 1 follows here, so `update_follower_fetch_state` runs twice.
#
# ### Three ways out
#
# One is a mark that rises: by a fetch, or because a slow follower leaves the ISR. The second is the timer:

# %%
boxes = PurgatoryBoxes(ProducePath(2, min_isr=2), "The timer")
world = boxes.path
world.in_sync()
slow = boxes.after("request 1, with 100 ms", world.produce, ("orders-0", "a"), timeout_ms=100)
boxes.after("99 ms pass", world.sleep, 99)
boxes.after("one more", world.sleep, 1)
again = boxes.after("the producer sends a again: request 2", world.produce, ("orders-0", "a"))
boxes.after("broker 1 fetches", world.fetch, 1)
boxes.after("broker 1 fetches again", world.fetch, 1)

# %%
predict(
    "records-in-orders-0",
    "How many records are in orders-0 now?",
    ___,
    lambda: len(world.values()),
)

# %%
boxes.play()

# %% [markdown]
# `REQUEST_TIMED_OUT` means: the broker does not know *yet*. Here the record is committed later; if the leader had died, it could be lost. The retry wrote it twice. With a producer id, the log recognises the retry by its sequence numbers (lesson *Producers and transactions*).
#
# The third way out: the leader loses its leadership. Broker 1 is the preferred leader of `orders-2`. It was away, and now leadership goes back:

# %%
moved = ProducePath(2, min_isr=2)
moved.dies(1)
moved.starts(1)
moved.in_sync()
waits = moved.produce(("orders-2", "a"))
print(waits)
moved.cluster.elect("orders", 2)
moved.in_sync()
print(waits, " broker 1 has", moved.values("orders-2", broker=1), " broker 0 has", moved.values("orders-2"))

# %% [markdown]
# Broker 0 no longer knows what becomes of the record, so it answers at once. It then cut the record, because the new leader never had it; in another run the record may survive. The producer has to send again.
#
# ### The minimum, before and after
#
# The leader checks the minimum twice: before the append, and when the high watermark has reached the required offset. If the second check fails, the error is `NOT_ENOUGH_REPLICAS_AFTER_APPEND`. Here a request waits, and broker 1 dies:

# %%
line = MinimumOverTime(ProducePath(2, min_isr=2))
shrunk = line.path
line.after("in sync", shrunk.in_sync)
caught = line.after("append", shrunk.produce, ("orders-0", "a"), timeout_ms=3000)
line.after("broker 1 dies", shrunk.dies, 1)
print("ISR", shrunk.isr(), " high watermark", shrunk.log().high_watermark, " ", caught)
line.after("time is over", shrunk.sleep, 3000)

# %%
predict(
    "error-in-answer",
    "With which error is it answered? ('NONE' or the name of an error)",
    ___,
    lambda: caught.parts["orders-0"].error,
)

# %%
shrunk.starts(1)
line.after("broker 1 is back", shrunk.in_sync)
line.picture()

# %% [markdown]
# After broker 1 dies, every replica in the ISR has the record. But too few are in sync, so the high watermark does not move (step 1 of `maybe_increment_leader_hw`). The second check never comes, and the timer answers.
#
# The error needs three events in order: the high watermark reaches the offset, the ISR shrinks, the request is checked. That window is very short, so we ask the method directly:

# %%
reached = shrunk.log().high_watermark
shrunk.dies(1)
erratum(
    "After the append the leader raises the high watermark if the replicas allow it",
    "not while the ISR is below the minimum; so NOT_ENOUGH_REPLICAS_AFTER_APPEND needs a mark that was there before the ISR shrank",
    f"mark {reached}, then ISR {shrunk.isr()}: {shrunk.partition().check_enough_replicas_reach_offset(reached).error.name}",
)

# %%
patient = ProducePath(2, min_isr=2)
patient.in_sync()
refused = patient.produce(("orders-2", "a"), ("orders-9", "b"))
erratum(
    "acks=-1 waits until all followers in the ISR have written; other acks return at once",
    "it waits for the high watermark, and only if a partition took its records; acks=0 has no response at all",
    f"acks=all, nothing appended, nobody fetches: {refused}",
)

# %% [markdown]
# ### One response, many answers
#
# `orders-1` gets two batches, broker 1 leads `orders-2`, `orders-9` and `letters-0` do not exist:

# %%
many = ProducePath(2)
many.in_sync()
answer = many.produce(("orders-0", "a"), ("orders-1", ["b", "c"]), ("orders-2", "d"), ("orders-9", "e"), ("letters-0", "f"), acks=1)
for name, part in sorted(answer.parts.items()):
    print(f"{name:10} {part.error:28} base offset {part.base_offset:2}  log start {part.log_start_offset}")

# %% [markdown]
# A client must read every answer: `a` is in the log. Now a request names one partition twice. (Kafka's own clients never do that.)

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
print(odd, many.values("orders-1"))

# %% [markdown]
# Kafka keeps valid partitions in one map and errors in another; under the same key the later entry replaces the earlier. So `s` was appended, and the answer is `INVALID_RECORD`: errors come last in the response (exercise 4 asks Kafka).
#
# ## 5. Three witnesses
#
# The same requests go to **minikafka** and to **Apache Kafka**: its own `KafkaApis`, `ReplicaManager`, `Partition` and purgatory in a JVM, with the same clock. **Spark** works out from the lines alone when the leader answers `acks=all`. `change` is the controller's decision, `publish` tells a broker, `follow 1` lets broker 1 fetch once. (`[3x10]`: three records with values of 10 bytes.)

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
produce 0 t-0 [1x10]
produce 0 timeout=1000 t-0 [2x10]
follow 1
change t-0 isr=0
publish 0
produce 0 t-0 [1x10]
produce 0 acks=1 t-0 [1x10]
sleep 1000
change t-0 isr=0,1
publish 0
follow 1
follow 1
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %%
for number in (5, 7, 10, 13, 14, 15, 18):
    row = ours.rows[number]
    print(f"{number:2} {workload.operations[number]!s:28} marks {row['high_watermarks']}  answered {row['answers']}")

# %% [markdown]
# An answer is a pair: the operation that asked, and an error. Spark knows only `acknowledged` and `timed_out`; the other rows have two witnesses.
#
# Now a planted bug: a request waits for the offset of its last record, not for the one after it. (Operation 5 is the first `produce`.)

# %%
with planted("a request waits for its last offset, not for the one after it"):
    sick = by_minikafka(workload)
found = agree(sick, spark, kafka)
at_operation = found.first_difference.operation

# %%
predict(
    "produce-differs-after",
    "After which operation do minikafka's brokers with this bug differ first?",
    ___,
    lambda: at_operation,
)

# %%
predict(
    "acknowledged-contradicted-by",
    "About who is acknowledged then, how many witnesses contradict minikafka? (1 or 2)",
    ___,
    lambda: sum(witness.value(at_operation, "acknowledged") != sick.value(at_operation, "acknowledged") for witness in (spark, kafka) if witness),
)

# %%
print(found.first_difference)

# %% [markdown]
# The first request was answered correctly by chance: the high watermark went from 0 to 3 in one step. The second brings offset 3, is acknowledged at once, and only the leader has it.
#
# ## 6. Exercises
#
# They have a notebook of their own: [The produce path: rebuild](11-produce-path-rebuild.ipynb), five functions and five rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | bytes of requests and responses; order, errors and offsets in a response | no sockets, no threads; the clock stands still | authorization, which by default allows everything |
# | the order of checks before and after the append | one lock for the purgatory; a heap as timer, where Kafka has timing wheels | quotas: a producer that is too fast is paused |
# | what waits, under which keys, who completes it | no metrics | transactional batches, which ask a coordinator first; the delayed fetch |
#
# **A question to take along.** Your producers with `acks=all` sometimes show a latency of half a second, and the leader's disk is idle. What do you check first?
#
# <details><summary>One answer</summary>
#
# The followers: the request waits for the slowest in-sync replica. `LocalTimeMs` is the way to the file, `RemoteTimeMs` the wait in the purgatory. If the latter is high, look at the followers: garbage collection, a busy disk, too few `num.replica.fetchers`. A slow replica holds up `acks=all` until it leaves the ISR (`replica.lag.time.max.ms`). If the latency equals `request.timeout.ms`, look for partitions below the minimum: `UnderMinIsrPartitionCount`.
#
# </details>

# %% [markdown]
# ### Card
#
# - `acks` changes when the producer is told, not how a record is stored or replicated (below the minimum `all` is refused).
# - Success with `acks=all` means that the high watermark has reached the required offset. It does not mean that anything was flushed.
# - Each partition of a request has its own result, and one response tells them all: the slowest partition decides when.
# - A request that waits is completed when the mark rises (a follower fetches, or leaves the ISR), by the timer, or because the leader leads no more.
# - `REQUEST_TIMED_OUT` means: the broker does not know yet. No answer takes records out of the log again.
#
# ![The way of a request](../diagrams/produce_path.svg)
#
# | `acks` | at least `min.insync.replicas` in sync | fewer |
# |:---|:---|:---|
# | `0` | appended; no answer | appended; no answer |
# | `1` | appended; `NONE` at once | appended; `NONE` at once, but no consumer sees it yet |
# | `all` | appended; `NONE` once the high watermark has reached the required offset | nothing is appended: `NOT_ENOUGH_REPLICAS` |
# | `all`, and time is over first | `REQUEST_TIMED_OUT`; the record may still be committed | the same, if the ISR shrank while the request waited |

# %% [markdown]
# **Next:** replication and leader epochs: how replicas agree again after a leader is lost.
