# %% [markdown]
# # Replication
#
# *The copies of a log lag behind their leader. When is a record safe, and which copy may lead next?*
#
# ## 1. The question
#
# **Time:** about fifty-five minutes to read, fifty-five minutes to rebuild. **Before:** *High watermark*.
#
# **Afterwards you can decide:** what `acks=all` and `min.insync.replicas` promise together, why a follower leaves the in-sync replicas, and how it returns.
#
# The next leader is normally one of the in-sync replicas (ISR). Broker 0 is alone in the ISR and has acknowledged `a`, `b` and `c`. Broker 1 was down. It is back, and its first fetch brings it one batch, `a`.
#
# What goes wrong without a condition for joining the ISR? A bug is planted: *a follower is in sync as soon as it fetches*.

# %%
from minikafka.lab import Replication, ___, diagram, erratum, planted, predict, step_through
from minikafka.lab.stage.replica_witnesses import by_minikafka, three_witnesses, wake_witnesses
from minikafka.lab.stage.replication import left_and_back
from minikafka.lab.widgets.replica_lanes import ReplicaLanes

with planted("a follower is in sync as soon as it fetches"):
    early = ReplicaLanes(Replication(2, narrow=True), "In sync at the first fetch")
    producer = left_and_back(early)
wake_witnesses()
early.play(upto=4)

# %%
predict(
    "consumed-after-joining-early",
    "Broker 0 dies, and broker 1 is elected. How many of the three records does a consumer get?",
    ___,
    lambda: len(early.replication.consumed()),
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them.

# %%
print("the producer of c was told:", producer.answer, "(no error: it is acknowledged)")
print("a consumer of broker 1 gets:", *early.replication.consumed())
early.play()

# %% [markdown]
# `b` and `c` were acknowledged, and are lost. In Kafka a follower joins only when it lacks nothing below the high watermark. So broker 1 stays outside the ISR, and the partition waits for broker 0:

# %%
sound = Replication(2, narrow=True)
lanes = ReplicaLanes(sound, "In sync at the high watermark")
producer = left_and_back(lanes)
print("broker 0 is dead, leader", sound.leader)
lanes.after("broker 0 is back", sound.start, 0)
print("broker 0 is back, leader", sound.leader, " a consumer gets:", *sound.consumed())

# %% [markdown]
# ## 2. The picture
#
# - **LEO**, **HW:** log end and high watermark (the *mark*). Each replica has its own.
# - **ISR**, in-sync replicas: the leader and the followers that keep up. The controller has the list; the leader proposes changes. While a proposal is pending, the **maximal ISR** holds the members before and after the change.
# - **Caught up:** a follower that has all that the leader has. The leader notes the last such time.
# - **Round:** each follower fetches once.

# %%
diagram("replication")

# %% [markdown]
# ## 3. The rules
#
# 1. The leader's HW is never above the log end of any member of the ISR.
# 2. Every member of the ISR holds what was acknowledged with `acks=all`; so a leader that is elected from the ISR has it.
#
# (If elections are clean and no broker loses what it has written.)
#
# Broker 1 fetches until it is in sync. Then each moment of both stories is checked:

# %%
for number in (2, 3, 4):
    lanes.after(f"broker 1 fetches, round {number}", sound.fetch, 1)
for story in (lanes, early):
    led = [frame for frame in story.frames if frame.leader is not None]
    marks = [frame.lanes[frame.leader].high_watermark for frame in led]
    ends = [min(frame.lanes[broker].log_end for broker in frame.isr) for frame in led]
    print(story.title, " marks", marks, " least end in the ISR", ends)
    print("  rule 1:", all(mark <= end for mark, end in zip(marks, ends, strict=True)), end=" ")
    print(" rule 2:", all("c" in story.replication.values(broker) for broker in story.replication.isr))
lanes.play()

# %% [markdown]
# ## 4. The source, walked
#
# ### One round late
#
# The leader knows how far a follower is only from the offset that it asks for. `[a, b, c]` are appended in one batch, with `acks=all`.

# %%
orders = Replication(min_isr=2)
lanes = ReplicaLanes(orders, "Three rounds")
sent = lanes.after("a, b and c are appended", orders.append, "a", "b", "c")
answers = []
for number in (1, 2, 3):
    lanes.after(f"round {number}", orders.fetch)
    answers.append(sent.answer)
mark_that_round = lanes.frames[answers.index("NONE") + 1].lanes[1].high_watermark

# %%
predict(
    "rounds-until-answer",
    "After how many rounds is the producer answered?",
    ___,
    lambda: answers.index("NONE") + 1,
)

# %%
predict(
    "follower-mark-that-round",
    "After that round, where is the high watermark of follower 1?",
    ___,
    lambda: mark_that_round,
)

# %%
lanes.play()

# %%
diagram("replication_rounds")

# %% [markdown]
# The leader reads first and notes the fetch afterwards. So the answer to the fetch that raises the mark still has the old mark. (Here `replica.fetch.wait.max.ms` is 0. A fetch that waits for records reads again at its end, and gets the new mark.) The leader's part of such a fetch:

# %%
orders.append("d")
orders.fetch(1, 2)
FETCH = {"Partition.update_follower_fetch_state", "Partition._maybe_increment_leader_hw"}
LOCALS = {"previous_end_offset", "leader_hw_incremented", "new_high_watermark", "old_high_watermark", "maximal_isr"}
orders.fetch(1)
walk = step_through(orders.fetch, 2, into=FETCH, locals_of_interest=LOCALS, watch=orders.log(0))
walk.play()

# %%
erratum(
    "The follower sets its high watermark with updateHighWatermark when it has got records",
    "it calls maybeUpdateHighWatermark, after each answer. A mark above the follower's log end is lowered to it. The mark is one round old",
    f"leader {orders.lane(0).high_watermark}, followers {orders.lane(1).high_watermark} and {orders.lane(2).high_watermark}",
)

# %% [markdown]
# **A late mark loses nothing committed. The leader's makes a producer wait a round longer.**
#
# ### Who is in sync
#
# A follower that lacks records stays in the ISR if it was caught up at most `replica.lag.time.max.ms` ago. The leader checks twice in that time, counted from second 0, when all are in sync. At second 1 a record is appended with `acks=all`; its producer waits for 30 seconds. Follower 1 fetches every second, follower 2 is silent.

# %%
room = Replication(min_isr=2)
lanes = ReplicaLanes(room, "Out of the ISR and back")
lanes.after("all fetch", room.fetch)
room.sleep(1)
sent = lanes.after("a is appended", room.append, "a")
left = lanes.sleep(59, fetching=[1])
told = sent.answer
patience = room.cluster.brokers[0].config.replica_lag_time_max_ms // 1000
print("replica.lag.time.max.ms:", patience, "seconds; the leader checks every", patience // 2)

# %%
predict(
    "second-broker-leaves-isr",
    "At which second does broker 2 leave the ISR?",
    ___,
    lambda: left[0],
)

# %%
predict(
    "producer-a-was-told",
    "What was the producer of a told? ('NONE' or the name of an error)",
    ___,
    lambda: told,
)

# %%
print("broker 2 left at second", left[0], " the producer was told", told, "at second", sent.answered_at)
print("a consumer gets:", *room.consumed())
erratum(
    "acks=all waits until every follower in the ISR has written the record",
    "it waits until the high watermark has passed the record, or its time is over; the record stays in the log either way",
    f"told {told}, and yet the record is committed: HW {room.lane(0).high_watermark}",
)

# %% [markdown]
# `REQUEST_TIMED_OUT` does not mean that the record is lost. A producer that is not idempotent and tries again writes it twice.
#
# Both followers are silent for 31 seconds; then the leader checks:

# %%
lost = Replication(min_isr=1)
lost.append("a", acks=1)
lost.sleep(31)
SHRINK = {"Partition.maybe_shrink_isr", "Partition._handle_alter_partition_update"}
LOCALS = {"out_of_sync_replica_ids", "proposed_state", "leader_end_offset"}
step_through(lost.partition(0).maybe_shrink_isr, into=SHRINK, locals_of_interest=LOCALS, watch=lost.log(0)).play()

# %% [markdown]
# Now broker 2 fetches again. Its first fetch brings it `a`. Only the second tells the leader so; then the leader proposes to add it. To join, a follower needs everything below the high watermark, and everything below the offset at which the leader's epoch (its term) began.

# %%
lanes.after("broker 2 fetches again", room.fetch, 2)
first = room.isr
LOCALS = {"current_state", "proposed_state"}
walk = lanes.after("broker 2 fetches once more", step_through, room.fetch, 2, into={"Partition._maybe_expand_isr"}, locals_of_interest=LOCALS, watch=room.log(0))
print("after one fetch", first, " after two", room.isr)
lanes.play()

# %%
walk.play()

# %% [markdown]
# All three have the whole log. For ten minutes nothing is appended, and no follower fetches.

# %%
quiet = Replication()
quiet.append("a")
quiet.fetch()
quiet.fetch()
quiet.sleep(600)

# %%
predict(
    "isr-after-ten-minutes",
    "How many brokers are in the ISR after those ten minutes?",
    ___,
    lambda: len(quiet.isr),
)

# %% [markdown]
# What counts is how long a follower was *behind*, not silent. (A dead broker is taken out by the controller, by default after 9 seconds without heartbeats.)
#
# **Below the minimum.** `min.insync.replicas`, how many must be in sync for `acks=all`, is 2. Brokers 1 and 2 die; one record is sent with `acks=all`, one with `acks=1`.

# %%
few = Replication(min_isr=2)
few.append("a")
few.fetch()
few.fetch()
lanes = ReplicaLanes(few, "Below the minimum")
for broker in (1, 2):
    lanes.after(f"broker {broker} dies", few.crash, broker)
strict = lanes.after("b is sent with acks=all", few.append, "b")
loose = lanes.after("c is sent with acks=1", few.append, "c", acks=1)
print("acks=all was told", strict.answer, " acks=1 was told", loose.answer, " records of the leader:", *few.values(0))

# %%
predict(
    "mark-of-lone-leader",
    "The leader is alone in the ISR. Where is its high watermark?",
    ___,
    lambda: few.lane(0).high_watermark,
)

# %%
erratum(
    "After an append the leader raises the high watermark as far as the replicas in sync allow it",
    "only while there are enough of them: below min.insync.replicas the mark stands still, whichever acks the producers ask for",
    f"log end {few.lane(0).log_end}, HW {few.lane(0).high_watermark}, ISR {few.isr}",
)

# %% [markdown]
# `c` was acknowledged, because its producer asked for the leader alone. No consumer sees it until the ISR has two members again.
#
# **On the way back in.** Two brokers, `min.insync.replicas` is 1. Broker 1 was down for a minute and is back; its first fetch brings it three records. Then `d` is appended, and acknowledged at once: broker 0 is alone in the ISR. Broker 1 fetches `d`. Then comes `e`.

# %%
alone = Replication(2, min_isr=1)
lanes = ReplicaLanes(alone, "A follower that is about to join")
lanes.after("broker 1 dies", alone.crash, 1)
alone.append("a", "b", "c")
alone.sleep(60)
lanes.after("broker 1 is back", alone.start, 1)
lanes.after("broker 1 fetches", alone.fetch, 1)
d = lanes.after("d is appended", alone.append, "d")
lanes.after("broker 1 fetches d", alone.fetch, 1)
answered_at_once = (e := lanes.after("e is appended", alone.append, "e")).answer

# %%
predict(
    "e-acknowledged-at-once",
    "The ISR is still broker 0 alone. Is e acknowledged at once, as d was? (True or False)",
    ___,
    lambda: answered_at_once == "NONE",
)

# %%
lanes.after("broker 1 fetches e", alone.fetch, 1)
lanes.after("broker 1 fetches again", alone.fetch, 1)
print("d was told", d.answer, " e was told", e.answer, " the ISR is", alone.isr)
lanes.play()

# %% [markdown]
# Broker 1 asked for offset 3 when the leader ended at 4. But at its previous fetch the leader ended at 3: it counts as caught up then. The mark also waits for a living follower outside the ISR that was caught up within the last 30 seconds.

# %% [markdown]
# ## 5. Three witnesses
#
# Three run the same workload: **minikafka**, **Spark** (from its lines alone, until the first leader dies) and **Apache Kafka** (three brokers in one JVM with the same clock). The workload is also the controller: `change` is its decision, `publish` tells a broker, `answer` accepts what a leader has proposed. `follow 1`: broker 1 fetches once. `[3x10]`: a batch of three records with values of 10 bytes.

# %%
from minikafka.witness import agree
from minikafka.witness.replicas.workload import ReplicaWorkload

workload = ReplicaWorkload.parse("""
broker replica.lag.time.max.ms=10000
start 0
start 1
start 2
topic t 0,1,2 min.insync.replicas=2
publish 0
publish 1
publish 2
produce 0 t-0 [3x10]
follow 1
follow 2
follow 1
follow 2
follow 1
produce 0 t-0 [2x10]
follow 1
follow 1
sleep 10000
sleep 5000
answer 0
follow 2
follow 2
answer 0
produce 0 t-0 [1x10]
follow 1
crash 0
change t-0 leader=1 isr=1,2
publish 1
publish 2
follow 2
produce 1 t-0 [1x10]
follow 2
follow 2
""")
ours, spark, kafka = three_witnesses(workload)
for number in (11, 12, 18, 20, 23, 28, 31):
    row = ours.rows[number]
    print(f"{number:2} {workload.operations[number]!s:22} marks {row['high_watermarks']}  ISR {row['isr']}  answered {row['answers']}")
agree(ours, spark, kafka)

# %% [markdown]
# At operation 20 the leader proposes to add broker 2, and the mark waits for it before the controller answers. After operation 23 broker 1 has six records and a mark of 5; with that mark it begins to lead.
#
# Now a bug is planted: the leader counts a record as received as soon as it has sent it. (Operation 7 is the first `produce`; 8 and 9 are the first fetches of both followers.)

# %%
with planted("what was sent to a follower counts as received"):
    sick = by_minikafka(workload)
found = agree(sick, spark, kafka)
answered = [number for number, told in enumerate(sick.column("acknowledged")) if told]

# %%
predict(
    "replication-differs-after",
    "After which operation does minikafka with this bug first differ from another witness?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "first-producer-answered-after",
    "After which operation is the first producer answered? (Without the bug: 11.)",
    ___,
    lambda: answered[0],
)

# %%
print(found.first_difference)
print("high watermarks after operation 9:", sick.value(9, "high_watermarks"), " and should be", ours.value(9, "high_watermarks"))

# %% [markdown]
# The producer has its answer before broker 2 has the records. If the leader fails then and broker 2 is elected, they are lost.

# %% [markdown]
# ## 6. Exercises
#
# [Replication: rebuild](12a-replication-rebuild.ipynb) has two functions and three rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | `Partition`, `Replica`, ISR and its pending changes, the controller's checks of a proposal, high watermark | one process, one clock; a follower fetches when it is told to, over no socket; the controller is no Raft quorum | moving replicas to other brokers or disks, tiered logs, power failures |
#
# *What Spark is told:* the lines of part 5 and the tables of the exercises, and no code.
#
# **A question to take along.** Consumers of one partition stand still, and producers with `acks=all` get `NOT_ENOUGH_REPLICAS`. The topic has three replicas, and all brokers are up. What do you check first?
#
# <details><summary>One answer</summary>
#
# The ISR, and since when it is small (`kafka-topics.sh --describe --under-min-isr-partitions`; the broker's log has each shrink and expand). A small ISR explains both. Then ask why the others left. Do they fetch (`ReplicaFetcherManager`: `MaxLag`, `DeadThreadCount`)? After an error a fetcher may have given up the partition (`FailedPartitionsCount`), until the leader changes or its broker restarts. Do they fetch and stay behind? Then disk, network, `replica.fetch.max.bytes`, or too few `num.replica.fetchers`. `unclean.leader.election.enable` does not help: there is a leader. A lower `min.insync.replicas` lets clients go on, but then the failure of one disk can lose records.
#
# </details>

# %% [markdown]
# ### Card
#
# - A follower tells how far it is by the offset that it asks for. So its own high watermark (mark) is one round late.
# - The mark waits for every member of the ISR, for a follower that the leader has proposed to add, and for one outside that was caught up at most `replica.lag.time.max.ms` ago.
# - A follower stays in the ISR if it was caught up at most `replica.lag.time.max.ms` ago. One that has every record is not behind, even if it does not fetch.
# - While elections are clean and no broker loses what it wrote, every member of the ISR holds what was acknowledged with `acks=all`; so a leader elected from it has it.
# - Below `min.insync.replicas` the mark stands still, and `acks=all` is refused.
#
# ![Fetches, and what the leader answers](../diagrams/replication.svg)
#
# | the follower | the leader |
# |:---|:---|
# | in the ISR, behind for at most `replica.lag.time.max.ms` | waits for it before it raises the mark |
# | in the ISR, behind for longer | proposes to take it out; until the controller agrees, the mark waits |
# | in the ISR, silent, with every record | keeps it |
# | outside, caught up at most `replica.lag.time.max.ms` ago | the mark waits for it |
# | outside, reaches the mark and the start of the leader's epoch | proposes to add it; from then on the mark waits for it |

# %% [markdown]
# **Next:** *Leader epochs*: what a follower keeps of its log when another broker leads.
