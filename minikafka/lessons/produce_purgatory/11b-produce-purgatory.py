# %% [markdown]
# # The produce purgatory
#
# *A request with `acks=all` waits. Who wakes it, and what is it told?*
#
# ## 1. The question
#
# **Time:** about forty-five minutes to read, forty-five minutes to rebuild. **Before:** *The produce path*.
#
# **Afterwards you can decide:** which partition or replica makes a producer wait, what its error means, and what happens when it sends again.
#
# Broker 0 leads and broker 1 follows; two must be in sync, and they are. A producer sends `a` with `acks=all` and waits for 100 ms at most. What goes wrong if nothing wakes the request? Here broker 1 fetches, the high watermark rises, and no code checks the waiting request.

# %%
from minikafka.lab import PathWalk, ___, diagram, erratum, planted, predict, step_through
from minikafka.lab.stage.produce_path import ProducePath
from minikafka.lab.stage.replica_witnesses import by_minikafka, three_witnesses, wake_witnesses
from minikafka.lessons.produce_purgatory.purgatory_boxes import PurgatoryBoxes

boxes = PurgatoryBoxes(ProducePath(2, min_isr=2), "What waits in broker 0")
boxes.path.in_sync()
slow = boxes.after("a producer sends a", boxes.path.produce, ("orders-0", "a"), timeout_ms=100)
wake_witnesses()
boxes.play()

# %%
with planted("a rising high watermark wakes no request"):
    boxes.path.fetch(1)
    boxes.path.fetch(1)
print("broker 1 has", boxes.path.values(broker=1), " high watermark", boxes.path.log().high_watermark)
boxes.path.sleep(100)

# %%
predict(
    "told-at-the-deadline",
    "100 ms have passed. What is the producer told? ('NONE', which is success, or the name of an error)",
    ___,
    lambda: slow.parts["orders-0"].error,
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them.

# %%
print(slow)
sound = ProducePath(2, min_isr=2)
sound.in_sync()
woken = sound.produce(("orders-0", "a"), timeout_ms=100)
sound.fetch(1)
sound.fetch(1)
print("if the risen high watermark wakes it:", woken)

# %% [markdown]
# Both replicas had `a`, but its producer was told that its time was over. When the wait begins, the broker notes this error for each partition that has taken its records. The timer sends what is noted; it looks at no high watermark. **So after every change that may end a wait, the broker has to check the waiting requests.**
#
# ## 2. The picture

# %%
diagram("produce_purgatory")

# %% [markdown]
# - **Purgatory:** where requests wait, each as a `DelayedProduce`.
# - **Required offset:** the offset after a request's last record in a partition. The high watermark (the **mark**) has to reach it.
# - **Key:** a partition. A request waits under the key of each of its partitions; after a change in a partition the broker checks the requests under its key.
# - **Timer:** answers a request when its timeout (its producer's `request.timeout.ms`) is over.
#
# ## 3. The rules
#
# 1. A request waits only with `acks=all`, and only if a partition took its records.
# 2. A partition is settled when its high watermark has reached the required offset, or when the broker finds an error (such as: it no longer leads).
# 3. A request is answered once: when all its partitions are settled.
# 4. A request that waits is answered when its time is over, at the latest. No answer takes its records out of the log again.
#
# Here they are. (Broker 1 leads `orders-2`, and `orders-9` does not exist. `required` has 0 for a partition that refused its records. `in_sync()`: all fetch until each knows what the others have.)

# %%
path = ProducePath(2, min_isr=2)
path.in_sync()
print("rule 1:", path.produce(("orders-0", "a"), acks=1), " ", path.produce(("orders-9", "x")))
both = path.produce(("orders-0", "b"), ("orders-2", "y"))
print("rule 2:", both, " required:", both.required, " high watermark", path.log().high_watermark)
path.in_sync()
print("rule 3:", both)
late = path.produce(("orders-0", "c"), timeout_ms=50)
path.sleep(50)
print("rule 4:", late, path.values())

# %%
patient = ProducePath(2, min_isr=2)
patient.in_sync()
refused = patient.produce(("orders-2", "a"), ("orders-9", "b"))
erratum(
    "acks=-1 waits until all followers in the ISR have written; other acks return at once",
    "acks=-1 waits for the high watermark, and only if a partition took its records; acks=0 has no response at all",
    f"acks=all, nothing appended, nobody fetches: {refused}",
)

# %% [markdown]
# ## 4. The source, walked
#
# ### The box
#
# Each answer to a follower's fetch holds one batch here, of one partition. Two requests wait (`fetch(1)`: broker 1 fetches once):

# %%
boxes = PurgatoryBoxes(ProducePath(2, min_isr=2, narrow=True))
path = boxes.path
path.in_sync()
first = boxes.after("request 1: orders-0 and orders-1", path.produce, ("orders-0", "a b"), ("orders-1", "x"), timeout_ms=500)
second = boxes.after("request 2: orders-0 and orders-9", path.produce, ("orders-0", "c"), ("orders-9", "y"), timeout_ms=300)
boxes.after("broker 1 fetches", path.fetch, 1)
boxes.after("broker 1 fetches again", path.fetch, 1)
print("high watermarks:", path.log("orders-0").high_watermark, "and", path.log("orders-1").high_watermark)
done = first.request.done, second.request.done

# %%
predict(
    "request-answered-now",
    "Which of the two requests is answered now? (1, 2, 'both' or 'neither')",
    ___,
    lambda: {(True, True): "both", (True, False): 1, (False, True): 2}.get(done, "neither"),
)

# %%
for number in (3, 4):
    boxes.after(f"broker 1 fetches, round {number}", path.fetch, 1)
boxes.play()

# %% [markdown]
# A request is a box with a label for each partition that `KafkaApis` has let pass. A label is ticked when its partition's high watermark has reached the required offset; the box opens when all are ticked. `orders-9` was refused at once, but its producer learns it only with the rest: **one response, so the slowest partition decides.**
#
# After a change in a partition the broker checks only the boxes under its key. Here is the way back of a request with one record:

# %%
back = ProducePath(2, min_isr=2)
back.in_sync()
waiting = back.produce(("orders-0", "a"))
back.fetch(1)
BACK = {"Partition.update_follower_fetch_state", "Partition._maybe_increment_leader_hw", "DelayedProduce.try_complete", "DelayedOperation.force_complete"}
walk = step_through(back.fetch, 1, into=BACK, locals_of_interest={"leader_hw_incremented", "has_enough"})
print(waiting)

# %%
PathWalk(walk, pictured=[14]).play()

# %% [markdown]
# The first fetch brought broker 1 the record. The second asks for what follows, and so tells the leader that the record has arrived. Each fetch is for both partitions that broker 1 follows here, so `update_follower_fetch_state` runs twice.
#
# ### Three ways out
#
# Three replicas are in sync, and two must be. Broker 1 fetches the record `a` and says so with its next fetch; broker 2 does not fetch. Then broker 2 dies, and the controller takes it out of the ISR. Nobody fetches after that.

# %%
three = ProducePath(3, min_isr=2)
three.in_sync()
held = three.produce(("orders-0", "a"))
three.fetch(1)
three.fetch(1)
print("ISR", three.isr(), " high watermark", three.log().high_watermark, " ", held)
three.dies(2)

# %%
predict(
    "mark-after-follower-left",
    "Broker 2 has left the ISR. Where is the high watermark of orders-0 now?",
    ___,
    lambda: three.log().high_watermark,
)

# %%
print("ISR", three.isr(), " high watermark", three.log().high_watermark, " ", held)

# %% [markdown]
# The mark is the least end in the ISR, and the least end has left. So the first way out is a mark that rises: by a fetch, or because a slow follower leaves the ISR. The second is the timer:

# %%
boxes = PurgatoryBoxes(ProducePath(2, min_isr=2), "The timer")
path = boxes.path
path.in_sync()
boxes.after("request 1, with 100 ms", path.produce, ("orders-0", "a"), timeout_ms=100)
boxes.after("99 ms pass", path.sleep, 99)
boxes.after("one more ms passes", path.sleep, 1)
again = boxes.after("the producer sends a again: request 2", path.produce, ("orders-0", "a"))
boxes.after("broker 1 fetches", path.fetch, 1)
boxes.after("broker 1 fetches again", path.fetch, 1)

# %%
predict(
    "records-in-orders-0",
    "How many records are in orders-0 now?",
    ___,
    lambda: len(path.values()),
)

# %%
boxes.play()

# %% [markdown]
# `REQUEST_TIMED_OUT` means: the broker does not know *yet*. Here the record is committed later; if the leader had died, it could be lost. The retry wrote it a second time. With a producer id, the log recognises the retry by its sequence numbers (lesson *Producers and transactions*).
#
# The third: the broker loses the leadership. Broker 1 is the preferred leader of `orders-2`. It was down; now it leads again:

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
from minikafka.lessons.produce_purgatory.minimum_over_time import MinimumOverTime

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
    "With which error is the request answered? ('NONE' or the name of an error)",
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
# This error needs three events in order: the high watermark reaches the offset, the ISR shrinks, the request is checked. That window is very short, so we ask the method directly:

# %%
reached = shrunk.log().high_watermark
shrunk.dies(1)
erratum(
    "After the append the leader raises the high watermark if the replicas allow it",
    "not while the ISR is below the minimum. So for NOT_ENOUGH_REPLICAS_AFTER_APPEND the mark must reach the offset before the ISR shrinks",
    f"mark {reached}, then ISR {shrunk.isr()}: {shrunk.partition().check_enough_replicas_reach_offset(reached).error.name}",
)

# %% [markdown]
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
    "After which operation does minikafka with this bug differ first?",
    ___,
    lambda: at_operation,
)

# %%
predict(
    "acknowledged-contradicted-by",
    "How many witnesses contradict minikafka there about which requests are acknowledged? (1 or 2)",
    ___,
    lambda: sum(witness.value(at_operation, "acknowledged") != sick.value(at_operation, "acknowledged") for witness in (spark, kafka) if witness),
)

# %%
print(found.first_difference)

# %% [markdown]
# The first request was answered correctly by chance: the high watermark went from 0 to 3 in one step. The record of the second gets offset 3. The mark is at 3 already, so this request is acknowledged at once; only the leader has the record.
#
# ## 6. Exercises
#
# [The produce purgatory: rebuild](11b-produce-purgatory-rebuild.ipynb) has three functions and two rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | what waits, under which keys, who completes it | one lock for the purgatory; a heap as timer, where Kafka has timing wheels | the purgatories of fetches and of deletions |
# | what each partition is told, and when | no sockets, no threads; the clock stands still | two threads that complete one request: the first answers |
# | the second check of the minimum | no metrics | the thread that clears completed requests out of the lists |
#
# **A question to take along.** Your producers with `acks=all` sometimes show a latency of half a second, and the leader's disk is idle. What do you check first?
#
# <details><summary>One answer</summary>
#
# The followers: the request waits for the slowest in-sync replica. `LocalTimeMs` is the way to the file, `RemoteTimeMs` the wait in the purgatory. If the latter is high, look at the followers: garbage collection, a busy disk, too few `num.replica.fetchers`. A slow replica holds up `acks=all` until it leaves the ISR (`replica.lag.time.max.ms`). If the latency equals `request.timeout.ms`, requests time out: a follower in the ISR stands still, or too few have been in sync since the append (`UnderMinIsrPartitionCount`).
#
# </details>

# %% [markdown]
# ### Card
#
# - A request waits only with `acks=all`. It waits in two places: under a key for each of its partitions, and in the timer.
# - It is answered once, for all partitions: the slowest decides when.
# - It is completed when the mark rises (a follower fetches, or leaves the ISR), by the timer, or because the broker no longer leads the partition.
# - `REQUEST_TIMED_OUT` means: the broker does not know yet. No answer takes records out of the log again.
# - Below the minimum the mark stands still, so a request that waits is answered by the timer.
#
# ![What ends the wait of a request](../diagrams/produce_purgatory.svg)
#
# | What happens while a request waits | What its producer is told of the partition |
# |:---|:---|
# | the high watermark reaches the required offset | `NONE` |
# | the ISR shrinks below the minimum | nothing, until the ISR has grown again or its time is over |
# | the mark reaches the required offset, but before the request is checked the ISR shrinks below the minimum | `NOT_ENOUGH_REPLICAS_AFTER_APPEND` |
# | its time is over | `REQUEST_TIMED_OUT`; the record may still be committed |
# | another broker leads | `NOT_LEADER_OR_FOLLOWER`; the record may survive or not |

# %% [markdown]
# **Next:** replication: how a copy follows a log, and who is in sync.
