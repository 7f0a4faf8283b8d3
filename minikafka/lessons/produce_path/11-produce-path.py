# %% [markdown]
# # The produce path
#
# *From the bytes of a request to the file, and back: who says yes, who says no, and what the answer is worth.*
#
# ## 1. The question
#
# **Time:** forty-five minutes to read, an hour and a half to rebuild. **Before:** *High watermark* and *Append*.
#
# **Afterwards you can decide:** which `acks` and which `min.insync.replicas` your data need, what a producer's error says about its records, and where a slow request waits.
#
# A partition has three replicas, and broker 0 leads. All have record `a`. A producer sends `b` with `acks=all`, so the broker should not answer before the others have `b`, too. What goes wrong without that wait? Here the leader answers as soon as the record is in its own log.

# %%
from minikafka.lab import OffsetRuler, PathWalk, Replication, ___, diagram, erratum, planted, predict, step_through
from minikafka.lessons.produce_path.produce_path import ProducePath
from minikafka.lessons.produce_path.purgatory_boxes import PurgatoryBoxes
from minikafka.lab.stage.replica_witnesses import by_minikafka, three_witnesses, wake_witnesses
from minikafka.network.api_keys import ApiKeys

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
    "The producer was told NONE, which means success. Broker 0 has died, and broker 1 leads. How many of the records a and b does a consumer get?",
    ___,
    lambda: len(got),
)

# %% [markdown]
# Two ways through this page. **Read:** predict, run, explain. **Rebuild:** complete functions in the notebook beside it. A `___` is
# a blank for you to fill. Since the first cell Spark and Apache Kafka have been starting; they tell in part 5 whether minikafka
# is right.

# %%
print("the producer of b was told:", producer)
print("now broker", hasty.leader, "leads, and a consumer gets:", *got)

# %% [markdown]
# `NONE` is the name of the error code for success. The producer has forgotten `b` by now; it was told that `b` is safe. No broker that is alive has it. The same with the wait (`committed("a")` appends `a` and lets both followers fetch until all know that it is committed):

# %%
sound = Replication(3, min_isr=2).committed("a")
producer = sound.append("b")
print("the producer of b was told:", producer)
sound.crash(0)
print("now broker", sound.leader, "leads, and a consumer gets:", *sound.consumed(), " the producer:", producer)

# %% [markdown]
# The same record is gone, and this time nobody was lied to. The producer has no answer. It still holds `b`, and will send it to broker 1. **An acknowledgement is a promise. The produce path is the machine that decides when it may be given.**

# %% [markdown]
# ## 2. The picture

# %%
diagram("produce_path")

# %% [markdown]
# - **acks**: what the producer wants to wait for: nothing (`0`), the leader's log (`1`), or the in-sync replicas (`all`; −1 on the wire).
# - **min.insync.replicas**, here **the minimum**: how many replicas must be in sync, the leader among them, for `acks=all`.
# - **Required offset:** the offset after the last record that a request brought to a partition. The partition's high watermark has to reach it.
# - **Purgatory**: where a request waits. It lies there under **keys**, one for each of its partitions, and in a **timer**.
# - **To complete** a request that waits: to answer it. This happens once; whoever comes first does it.
#
# In the errata of this page, *older text* is the one that the course grew from.

# %% [markdown]
# ## 3. The rules
#
# 1. A request may bring records for many partitions. Each has its own result, and one response tells them all.
# 2. A partition takes the one batch that it is sent, or nothing.
# 3. With `acks=all` a partition takes nothing while fewer than the minimum are in sync.
# 4. Success with `acks=all` means: the high watermark has reached the required offset.
# 5. A request that waits is answered when its time is over, at the latest. No answer takes its records out of the log again.
#
# Here they are, with two brokers and a minimum of 2. (`produce(("orders-0", "a b"))` sends one batch with two records for partition `orders-0` to broker 0; `["c", "d"]` would be two batches. `fetch(1)` lets broker 1 fetch once.)

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
# A request has been read from its bytes: two records for `orders-0`, and one for `orders-9`, a partition that the topic does not have. We shall follow it through six classes: `KafkaApis` (its part for produce requests is a class of its own in minikafka, `ProduceHandler`), `ReplicaManager`, `Partition`, `Log` (Kafka: `UnifiedLog`), `LocalLog` and
# `LogSegment`. But first, a request for `orders-9` alone:

# %%
shop = ProducePath(2)
shop.in_sync()
handle = shop.cluster.brokers[0].apis.handle
DOWN = {"KafkaApis.handle", "ProduceHandler.handle_produce_request", "ReplicaManager.append_records", "ReplicaManager._append_to_local_log"}
DOWN |= {"Partition.append_records_to_leader", "Log._append", "LocalLog.append", "LogSegment.append"}
lost = PathWalk(step_through(handle, shop.arrived(("orders-9", "x")), into=DOWN))

# %%
predict(
    "classes-request-reaches",
    "How many of the six classes does a request for orders-9 alone reach?",
    ___,
    lambda: len(lost.places[-1].visited),
)

# %%
LOCALS = {"required_acks", "min_isr", "in_sync_size", "leader_hw_incremented", "last_offset", "physical_position"}
walk = step_through(handle, shop.arrived(("orders-0", "a b"), ("orders-9", "x")), watch=shop.log(), into=DOWN, locals_of_interest=LOCALS)
PathWalk(walk).play()

# %% [markdown]
# The picture above each step marks where we are. In `ProduceHandler` step 4 comes twice, once for each partition: `orders-9` is sorted out there, and nothing below hears of it. (First the topic id is turned into a name. Then three questions are asked, in this order: may this user write to the topic? Is there such a partition? Is it one batch, in the right format?) From
# `ReplicaManager` on, each partition is treated by itself. `Partition` asks about leadership and replicas **before** the log is touched. `Log` gives out the offsets. `LogSegment` writes bytes; the log end moves when they are in the file. Nobody has flushed them to the device and,
# unless `flush.messages` says so, no answer waits for that: with `acks=all` it is the other replicas that make records safe.
#
# The walk is over, and the request has not been answered: the last step of `append_records` has put it aside.

# %%
asked = step_through(handle, shop.arrived(("orders-0", "c"), acks=1), into={"ReplicaManager.handle_produce_append", "ReplicaManager.append_records"})
erratum(
    "The handler calls appendRecords",
    "it calls handleProduceAppend, which asks the transaction coordinator where a batch belongs to a transaction; then comes appendRecords",
    " → ".join(dict.fromkeys(frame.method.name for frame in asked.frames)),
)

# %%
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
# Both brokers are in sync, and broker 1 does not fetch at the moment. Three requests:

# %%
acks = ProducePath(2, min_isr=2)
acks.in_sync()
for number in (0, 1, "all"):
    print(f"acks {number}:", acks.produce(("orders-0", f"record-{number}"), acks=number))
print(acks.values(), "high watermark", acks.log().high_watermark)

# %% [markdown]
# All three are in the log in the same way. What `acks` changes is **when the producer is told**, not how a record is stored or replicated. There is one exception. Broker 1 dies, the controller takes it out of the ISR, and one replica is left where the minimum is 2:

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
# The minimum protects those who ask for it. A producer with `acks=1` writes on, and is told `NONE`; but look at the high watermark. Below the minimum it stands still, so no consumer sees these records yet.

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
# A producer with `acks=0` expects no response. Its client counts a record as sent when the bytes are out. A request for two partitions, of which one does not exist:

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
# After success, nothing. After any failure the connection is closed, with no word about which partition failed or why. `a` was appended all the same. A closed connection makes the client ask for new metadata, which is what it needs if the leader has moved. By then it has counted the records of that request as sent.
#
# ### The box
#
# Now the requests that wait. Here the answer to a follower's fetch has room for one partition only, so that we can see one partition move without the other. Request 1 brings records for two partitions, request 2 for one that exists and one that does not.

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
# Go through the frames. A request is one box, with a label for each of its partitions that `KafkaApis` has let pass. A label gets its tick when the high watermark of that partition has reached the required offset; the box opens when all labels are ticked. `orders-9` was refused at once, but its producer learned of that only together with the rest: **one
# response, so the slowest partition decides.**
#
# Nobody looks into the boxes all the time. Whoever has moved something in a partition asks the boxes that lie under that partition's key, and no others. Here is the way back, step by step: a request with one record, and the fetch that opens it.

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
# The first fetch took the record along; only the second one, which asks for what follows, tells the leader that it has arrived. A fetch is for all the partitions that broker 1 follows on broker 0. There are two, so `update_follower_fetch_state` runs twice, and in one of them the mark rises. (The lesson *Replication and leader epochs* counts these rounds.) The answer goes out in the middle of handling a follower's request. `force_complete` makes sure that it goes out only once, because the timer may be trying at the same moment.
#
# ### Three ways out
#
# A fetch is one. The second is the timer:

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
# `REQUEST_TIMED_OUT` says: *I do not know yet*. Here the record is committed later. If the leader had died, it could be lost. A producer that sends it again without a producer id has written it twice; an idempotent one is recognised by its sequence numbers (lesson *Producers and transactions*).
#
# The third way out: the leader is no longer the leader. Broker 1 is the preferred leader of `orders-2`. It was away, broker 0 leads in its place, and now leadership goes back:

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
# Broker 0 can no longer know what becomes of the record, so it says so at once. The record was cut from its log, because the new leader never had it. Another time it might be there: after an error like this, as after a time-out, the producer has to send again.
#
# ### The minimum, before and after
#
# The minimum is looked at twice: before the append (`Partition.append_records_to_leader`, step 2), and when the high watermark has reached the required offset. For the second look there is an error of its own, `NOT_ENOUGH_REPLICAS_AFTER_APPEND`. Here a request waits, and then broker 1 dies:

# %%
shrunk = ProducePath(2, min_isr=2)
shrunk.in_sync()
caught = shrunk.produce(("orders-0", "a"), timeout_ms=3000)
shrunk.dies(1)
print("ISR", shrunk.isr(), " high watermark", shrunk.log().high_watermark, " ", caught)
shrunk.sleep(3000)

# %%
predict(
    "error-in-answer",
    "With which error is it answered? ('NONE' or the name of an error)",
    ___,
    lambda: caught.parts["orders-0"].error,
)

# %%
print(caught)
shrunk.starts(1)
shrunk.in_sync()
print("ISR", shrunk.isr(), " high watermark", shrunk.log().high_watermark, " ", shrunk.values())

# %% [markdown]
# Below the minimum the high watermark does not move (step 1 of `maybe_increment_leader_hw`), so no request that waits gets as far as the second look. Ours waits until its time is over. When broker 1 is back, the record is committed after all; its producer was told of a time-out. This error needs three events in order: the high watermark reaches the offset, the ISR shrinks, the request is checked.
# That window is very short, in a broker with many threads. We can ask the method directly, after events in that order:

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
# Five partitions in one request. `orders-1` gets two batches, `orders-2` is led by broker 1, `orders-9` and `letters-0` do not exist:

# %%
many = ProducePath(2)
many.in_sync()
answer = many.produce(("orders-0", "a"), ("orders-1", ["b", "c"]), ("orders-2", "d"), ("orders-9", "e"), ("letters-0", "f"), acks=1)
for name, part in sorted(answer.parts.items()):
    print(f"{name:10} {part.error:28} base offset {part.base_offset:2}  log start {part.log_start_offset}")

# %% [markdown]
# A client that looks at the first error only, or takes one failure for the failure of all, is wrong: `a` is in the log. Now a request that names one partition twice. (Kafka's own clients never do that.)

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
# Partitions are kept in a map, and what comes later under the same key replaces what was there. And the last line is a surprise: `s` was appended, and the answer says `INVALID_RECORD`. The valid batch and the invalid one of the same partition got into two maps, and when the response is put together the errors come last. Real Kafka does the same (exercise 4 asks it).

# %% [markdown]
# ## 5. Three witnesses
#
# The same requests to **minikafka** and to the real **Apache Kafka**: its own `KafkaApis`, `ReplicaManager`, `Partition` and purgatory, in a JVM of their own, with the same clock. **Spark** has no brokers. It gets the lines below as a table, and works out from them what the leader knows and when `acks=all` is answered. `change` is what the controller decides, `publish` tells a broker; `follow 1` lets broker 1 fetch once. (`[3x10]` is a batch of three records with values of 10 bytes.)

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
# Each answer is a pair: the number of the operation that asked, and an error. Operation 15 is a second in which nobody fetches, and one request's time is over. Spark tells who was `acknowledged` and who `timed_out`, among those that asked for `acks=all`. Of refusals, of `acks=1` and
# of what lies in each replica's log it says nothing: those rows of the table have two witnesses.
#
# Now a bug is planted: a request waits for the offset of its last record, not for the one after it. (Operation 5 is the first `produce`.)

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
# The first request was answered at the right moment, by chance: the high watermark went from 0 to 3 in one leap. The second one brings a single record at offset 3 and finds the mark at 3, where it has been all the time. It is acknowledged at once, and nobody but the leader has it. Off by one, and part 1 is back.

# %% [markdown]
# ## 6. Exercises
#
# They have a notebook of their own: [The produce path: rebuild](11-produce-path-rebuild.ipynb), five functions and five rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | the bytes of requests and responses, the order of partitions in a response, every error and offset in it | no sockets and no threads: a request is handled in the caller's thread, and the timer looks at a clock that stands still | authorization: who may write to a topic; it is there, and allows everything unless told otherwise |
# | who is asked in which order, what is looked at before and after the append | one lock for all lists of the purgatory, where Kafka spreads the keys over many; a heap for the timer, where Kafka has timing wheels | quotas: a producer that is too fast is told to pause, and not read from meanwhile |
# | what waits, under which keys, who completes it, and with what | no metrics | transactional batches, which ask a coordinator first; the delayed fetch, which waits in a purgatory of its own |
#
# **A question to take along.** Your producers with `acks=all` show a latency of half a second now and then, and the leader's disk is idle. What do you check first?
#
# <details><summary>One answer</summary>
#
# The followers: the request waits for the slowest replica that is in sync. The broker splits the time of a produce request in its metrics: `LocalTimeMs` is the way down to the file, `RemoteTimeMs` the time in the purgatory. If the latter is high, look at the brokers that follow: garbage collection, a busy disk, too few
# fetcher threads (`num.replica.fetchers`), one large partition in front of the others in a fetch. A replica that is slow, but not slow enough to leave the ISR (`replica.lag.time.max.ms`), holds up every producer with `acks=all`. And if the latency is that of `request.timeout.ms`, look for partitions below the minimum:
# `UnderMinIsrPartitionCount`.
#
# </details>

# %% [markdown]
# ### Card
#
# - `acks` changes when the producer is told, not how a record is stored or replicated.
# - Success with `acks=all` means that the high watermark has reached the required offset. It does not mean that anything was flushed.
# - Each partition of a request has its own result, and one response tells them all: the slowest partition decides when.
# - A request that waits is completed by a follower's fetch, by the timer, or because the leader is no longer the leader.
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
