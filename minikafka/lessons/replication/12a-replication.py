# %% [markdown]
# # Replication and leader epochs
#
# *Three brokers keep one log while their leader changes. How does a follower know which of its records belong to the partition, and which must it remove?*
#
# ## 1. The question
#
# **Time:** fifty minutes to read, an hour and a half to rebuild. **Before:** *High watermark*; *Append*, for leader epochs.
#
# **Afterwards you can decide:** what `acks=all` and `min.insync.replicas` promise together, why a follower leaves the in-sync replicas and how it returns,
# why consumers wait after a change of the leader, and what an unclean election costs.
#
# Record `b` is written with `acks=all`. When its producer has the answer, all three brokers have the record.
#
# What goes wrong without leader epochs? Before them Kafka had this rule: *a broker that becomes a follower cuts its log at its own high watermark*.

# %%
from minikafka.lab import Replication, ___, diagram, erratum, planted, predict, step_through
from minikafka.lessons.replication.replica_deal import ReplicaDeal
from minikafka.lessons.replication.replica_lanes import ReplicaLanes
from minikafka.lab.stage.replica_witnesses import by_minikafka, three_witnesses, wake_witnesses
from minikafka.lab.stage.replication import fast_failovers, two_failures, unclean_election

with planted("a follower knows no leader epochs"):
    old = ReplicaLanes(Replication(), "Two failures, by the old rule")
    producer = two_failures(old)
wake_witnesses()
old.play(upto=4)

# %%
predict(
    "consumed-after-two-failures",
    "Broker 0 dies and broker 1 leads. It dies as well, and broker 2 leads. How many of the records a and b does a consumer get?",
    ___,
    lambda: len(old.replication.consumed()),
)

# %% [markdown]
# **Read:** predict, run, explain. **Rebuild:** complete functions in the notebook beside this one. A `___` is a blank for you to fill. Spark and Apache Kafka are starting meanwhile; part 5 needs them.
#
# (`NONE`: no error, the producer has its acknowledgement. Kafka 4.3.0 still uses the old rule for a log without epochs; here no log had any.)

# %%
print("the producer of b was told:", producer.answer)
print("a consumer of broker 2 gets:", *old.replication.consumed())
old.play()

# %% [markdown]
# Broker 2 cut off `b` when it began to follow broker 1, because its own high watermark covered only `a`. The mark was not wrong, only late.
#
# With leader epochs, a follower asks its leader where their logs differ. Until it has an answer, it keeps everything:

# %%
sound = Replication()
lanes = ReplicaLanes(sound, "Two failures, with leader epochs")
producer = two_failures(lanes)
print("the producer of b was told:", producer.answer)
print("a consumer of broker 2 gets:", *sound.consumed())

# %% [markdown]
# ## 2. The picture
#
# - **Leader epoch:** the number of a leader's term. It grows with each election, when the leader is lost, and when a reassignment removes a replica. Every batch has the epoch in which it was written.
# - **Epoch cache:** the offset at which each epoch of a log begins, in the file `leader-epoch-checkpoint`. A new leader adds its epoch before it writes a record.
# - **ISR**, in-sync replicas: the leader and the followers that keep up. The controller has the list; the leader proposes changes. While a proposal is pending, the **maximal ISR** holds the members before and after the change.
# - **Caught up:** a follower that has all that the leader has. The leader notes the last such time.
# - **LEO**, **HW:** log end and high watermark; each replica has its own.
# - **ELR**, eligible leader replicas: replicas that left the ISR when that made it smaller than `min.insync.replicas`, or later. Below this minimum the HW stands still, so they have all that is committed. One of them may lead when the ISR is empty. The feature `eligible.leader.replicas.version`
#   turns them on. It is at level 1 in a cluster formatted with 4.1 or later, and here.
# - **Unclean election:** the new leader is in neither the ISR nor the ELR. It may lack acknowledged records.

# %%
diagram("replication")

# %% [markdown]
# ## 3. The rules
#
# 1. The leader's HW is never above the log end of any member of the ISR.
# 2. Below a follower's HW, its log is equal to the leader's.
# 3. In a log epochs never fall. Two records with the same offset and the same epoch are the same record.
# 4. Every member of the ISR holds what was acknowledged with `acks=all`; so a leader that is elected from the ISR has it.
#
# (If elections are clean and no broker loses what it has written; rule 2 without compaction.)
#
# After the two failures brokers 0 and 1 return and fetch:

# %%
for broker in (0, 1):
    lanes.after(f"broker {broker} is back", sound.start, broker)
lanes.after("three rounds of fetches", lambda: [sound.fetch() for _ in range(3)])
states = [sound.lane(broker) for broker in range(3)]
leader = states[sound.leader]
print("rule 1:", all(leader.high_watermark <= state.log_end for state in states), " ISR", sound.isr)
print("rule 2:", all(state.records[: state.high_watermark] == leader.records[: state.high_watermark] for state in states))
print("rule 3:", all(epochs == sorted(epochs) for epochs in ([record.epoch for record in state.records] for state in states)))
print("rule 4:", all("b" in [record.value for record in state.records] for state in states))
lanes.play()

# %% [markdown]
# ## 4. The source, walked
#
# ### One round late
#
# A follower tells its leader how far it is only by the offset that it asks for. `[a, b, c]` are appended in one batch, with `acks=all`. In a round each follower fetches once.

# %%
orders = Replication(min_isr=2)
lanes = ReplicaLanes(orders, "Three rounds")
sent = lanes.after("a, b and c are appended", orders.append, "a", "b", "c")
answers = []
for number in (1, 2, 3):
    lanes.after(f"round {number}", orders.fetch)
    answers.append(sent.answer)

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
    lambda: lanes.frames[answers.index("NONE") + 1].lanes[1].high_watermark,
)

# %%
lanes.play()

# %%
diagram("replication_rounds")

# %% [markdown]
# The leader reads first and notes the fetch afterwards. So the answer to the fetch that raises the mark still has the old mark. (Here `replica.fetch.wait.max.ms` is 0. Where a fetch without records waits, it reads again at the end and has the new mark.) The leader's part of such a fetch:

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
    "with maybeUpdateHighWatermark, after each answer: a mark above the follower's log end is lowered to it, and the mark is a round old",
    f"leader {orders.lane(0).high_watermark}, followers {orders.lane(1).high_watermark} and {orders.lane(2).high_watermark}",
)

# %% [markdown]
# `e` is acknowledged, and at that moment the leader dies. Broker 1 leads and has all five records. A consumer begins at offset 0.

# %%
sent = orders.append("e")
orders.fetch()
orders.fetch()
lanes.after("e is acknowledged, broker 0 dies", orders.crash, 0)
print("the producer of e was told:", sent.answer, " the new leader ends at", orders.lane(1).log_end)
at_once = orders.consumed()

# %%
predict(
    "records-new-leader-gives",
    "How many of the five records does the consumer get from the new leader at once?",
    ___,
    lambda: len(at_once),
)

# %%
latest = orders.latest_offset()
lanes.after("round 1 of the new leader", orders.fetch)
lanes.after("round 2", orders.fetch)
print("asked for the latest offset at once, broker 1 answered", latest, " and after two rounds", orders.latest_offset())
lanes.play()

# %% [markdown]
# The new leader was never told of a higher mark. Until the mark reaches the offset at which its epoch began, the leader gives consumers no latest offset.
#
# **A late mark loses nothing committed. It costs time:** one round until a producer is answered, and after a failure consumers wait for a round.
#
# ### Who is in sync
#
# A follower that lacks records stays in the ISR if it was caught up at most `replica.lag.time.max.ms` ago. The leader checks twice in that time, from second 0 on. At second 0 all are in sync. At second 1 a record is appended with `acks=all`; its producer waits for 30 seconds. Follower 1 fetches every second, follower 2 is silent.

# %%
room = Replication(min_isr=2)
lanes = ReplicaLanes(room, "Out and in")
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
# `REQUEST_TIMED_OUT` does not mean that the record is lost. If a producer that is not idempotent tries again, it writes it twice.
#
# The leader's check, after 31 seconds of silence of both followers; the controller answers at once:

# %%
lost = Replication(min_isr=1)
lost.append("a", acks=1)
lost.sleep(31)
SHRINK = {"Partition.maybe_shrink_isr", "Partition._handle_alter_partition_update"}
LOCALS = {"out_of_sync_replica_ids", "proposed_state", "leader_end_offset"}
step_through(lost.partition(0).maybe_shrink_isr, into=SHRINK, locals_of_interest=LOCALS, watch=lost.log(0)).play()

# %% [markdown]
# The mark moved: a smaller ISR has more records in common.
#
# Now broker 2 of the partition before fetches again. Its first fetch brings it `a`. Only the second tells the leader so; then the leader proposes to add it to the ISR. To join, a follower needs everything below the high watermark, and everything below the offset at which
# the leader's epoch began.

# %%
lanes.after("2 fetches again", room.fetch, 2)
first = room.isr
EXPAND = {"Partition._maybe_expand_isr", "Partition._handle_alter_partition_update"}
LOCALS = {"current_state", "proposed_state"}
walk = lanes.after("2 fetches once more", step_through, room.fetch, 2, into=EXPAND, locals_of_interest=LOCALS, watch=room.log(0))
print("after one fetch", first, " after two", room.isr)
lanes.play()

# %%
walk.play()

# %% [markdown]
# All three are in sync and at the end of the log. For ten minutes nothing is appended, and no follower fetches.

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
# A follower that has every record is not behind. What counts is how long it was *behind*, not silent. (The controller notices a dead broker itself: after 9 seconds (by default) without
# heartbeats it fences the broker, and takes it out of every ISR. Without ELR the last member stays.)
#
# **The last one in sync.** Two brokers die, broker 0 last; then broker 0 starts again. Without ELR (level 0) and with it (level 1):

# %%
for level in (0, 1):
    last = Replication(2, eligible_leader_replicas_version=level)
    last.crash(1)
    last.crash(0)
    print(f"level {level}: both are dead, ISR {last.isr}, ELR {last.elr}", end="; ")
    last.start(0)
    print(f"broker 0 is back, leader {last.leader}, {last.leader_recovery_state}")

# %% [markdown]
# At level 0 the partition waits for the last member of its ISR, and trusts it. At level 1 the ISR is empty and broker 0 is in the ELR. But after a crash it may lack what it had not flushed, so it leaves the ELR. Now both are empty: the last known leader may return, although unclean elections are off. That counts as unclean (`RECOVERING`). After a clean stop it would be elected from the ELR, cleanly.
#
# **Below the minimum.** `min.insync.replicas` is 2. Broker 1 and broker 2 die; one record is sent with `acks=all`, one with `acks=1`.

# %%
few = Replication(min_isr=2)
few.append("a")
few.fetch()
few.fetch()
lanes = ReplicaLanes(few, "Below the minimum")
for broker in (1, 2):
    lanes.after(f"broker {broker} dies", few.crash, broker)
strict = lanes.after("b, acks=all", few.append, "b")
loose = lanes.after("c, acks=1", few.append, "c", acks=1)
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
    "only while there are enough of them: below min.insync.replicas the mark stands still, whatever acks the producers ask for",
    f"log end {few.lane(0).log_end}, HW {few.lane(0).high_watermark}, ISR {few.isr}",
)

# %% [markdown]
# `c` was acknowledged, because its producer asked for one broker only. No consumer sees it until the ISR has two members again.
#
# **On the way back in.** Two brokers, `min.insync.replicas` is 1. Broker 1 was down for a minute and is back; its first fetch, from offset 0, brings it three records. Then `d` is appended, and
# acknowledged at once: broker 0 is alone in the ISR. Broker 1 fetches `d`. Then comes `e`.

# %%
alone = Replication(2, min_isr=1)
lanes = ReplicaLanes(alone, "One that is about to join")
lanes.after("broker 1 dies", alone.crash, 1)
alone.append("a", "b", "c")
alone.sleep(60)
lanes.after("broker 1 is back", alone.start, 1)
lanes.after("1 fetches", alone.fetch, 1)
d = lanes.after("d is appended", alone.append, "d")
lanes.after("1 fetches d", alone.fetch, 1)
e = lanes.after("e is appended", alone.append, "e")

# %%
predict(
    "e-acknowledged-at-once",
    "The ISR is still broker 0 alone. Is e acknowledged at once, as d was? (True or False)",
    ___,
    lambda: e.answer == "NONE",
)

# %%
lanes.after("1 fetches e", alone.fetch, 1)
lanes.after("1 fetches again", alone.fetch, 1)
print("d was told", d.answer, " e was told", e.answer, " the ISR is", alone.isr)
lanes.play()

# %% [markdown]
# Broker 1 asked for offset 3 when the leader ended at 4. But 3 was the end at its previous fetch: then it was caught up. The mark also waits for a follower that is alive, outside the ISR, and was caught up within the last 30 seconds. Without this wait each append could move the mark past it, and it would not join.
#
# ### Deal the cards
#
# Three brokers, `min.insync.replicas=2`. The buttons append, let a broker fetch, let 15 seconds pass, kill a broker or start it. Five have been pressed: broker 0 died after broker 1 had fetched `a` once, and
# broker 1 leads. Go on, or begin anew: can you lose a record that was acknowledged with `acks=all`? Can you make two logs differ below their marks?

# %%
game = ReplicaDeal(brokers=3, min_isr=2)
game.deal("append", "fetch 1", "power 0", "fetch 2", "fetch 2")
game.play()

# %% [markdown]
# You can't; nor could a test that pressed these buttons two thousand times. An unclean election can.
#
# ### Where two logs part
#
# Two brokers; the topic allows unclean elections (`unclean.leader.election.enable`, off by default). Both have `a`. Broker 1 dies, and `b` is written to broker 0, alone in the ISR. Broker 0 dies: the ISR is empty, and broker 0 alone is in the ELR. Broker 1 comes back, is elected uncleanly, and takes `c` at the offset of `b`.
# Then broker 0 is back as a follower. It asks for offset 2, and says that its last record is of epoch 0. The leader looks into its epoch cache.

# %%
parted = Replication(2, min_isr=1, unclean=True)
lanes = ReplicaLanes(parted, "An unclean election")
producer = unclean_election(lanes)
print("b was told", producer.answer, " leader", parted.leader, "in epoch", parted.leader_epoch, " ISR", parted.isr)
print("epoch and first offset; broker 1:", parted.lane(1).epochs, " broker 0:", parted.lane(0).epochs)
twin = Replication(2, min_isr=1, unclean=True)
unclean_election(ReplicaLanes(twin))
twin.fetch(0)
lanes.play()

# %%
predict(
    "broker-0-cuts-at",
    "At which offset does broker 0 cut its log? (2 for: nothing is cut)",
    ___,
    lambda: twin.lane(0).log_end,
)

# %%
CUT = {"Partition._read_records", "get_offset_truncation_state"}
LOCALS = {"epoch_end_offset", "diverging_epoch", "diverging_end_offsets", "leader_epoch_offset", "replica_end_offset", "found", "end_offset"}
walk = lanes.after("0 fetches, and cuts", step_through, parted.fetch, 0, into=CUT, locals_of_interest=LOCALS, watch=parted.log(0))
walk.play()

# %%
lanes.after("0 fetches again", parted.fetch, 0)
lanes.after("0 fetches once more", parted.fetch, 0)
print("broker 0:", *parted.values(0), " broker 1:", *parted.values(1))
lanes.play()

# %% [markdown]
# The logs are equal again. `b` is gone, although it was acknowledged. **That is the price of an unclean election.** The old
# rule cost more. Broker 0 had written its high watermark, 2, to disk before it died. What did it cut then?

# %%
with planted("a follower knows no leader epochs"):
    apart = Replication(2, min_isr=1, unclean=True)
    lanes = ReplicaLanes(apart, "The same by the old rule")
    unclean_election(lanes)
    lanes.after("0 fetches", apart.fetch, 0)
    apart.append("d")
    for number in (1, 2, 3):
        lanes.after(f"d is appended; round {number}", apart.fetch, 0)

# %%
predict(
    "value-at-offset-1",
    "Which value does broker 0 have at offset 1, after d has arrived? ('b' or 'c')",
    ___,
    lambda: apart.values(0)[1],
)

# %%
lanes.play()

# %%
erratum(
    "The high watermark of a log begins at its log start offset",
    "when a broker starts, Partition gives the log the mark that was last written to disk, or the log end if that is lower",
    f"broker 0 came back with HW {lanes.frames[-5].lanes[0].high_watermark}",
)

# %% [markdown]
# Both brokers are in sync and differ at offset 1: consumers see `b` or `c`, depending on who leads. In part 1 a late mark lost a
# record; here a mark that covered `b` kept a record that the leader does not have. **A high watermark tells what is committed. It does not tell which leader wrote the records.** An epoch does.
#
# ### When the leader has never heard of the epoch
#
# Ten records in epoch 0 are on both brokers. Then elections follow quickly, each time with one broker alone: broker 1 writes `k` and `l`, broker 0 writes `x`,
# broker 1 leads again and writes `m`. Now broker 0 is back. Its leader does not know its last epoch.

# %%
fast = Replication(2, min_isr=1, unclean=True)
lanes = ReplicaLanes(fast, "What KIP-279 mended")
fast_failovers(lanes)
print("broker 1 leads:", fast.lane(1).epochs, "log end", fast.lane(1).log_end)
print("broker 0 follows:", fast.lane(0).epochs, "log end", fast.lane(0).log_end)
lanes.after("0 fetches", fast.fetch, 0)

# %%
predict(
    "unknown-epoch-cuts-at",
    "At which offset does broker 0 cut?",
    ___,
    lambda: fast.lane(0).log_end,
)

# %%
for number in (2, 3):
    lanes.after(f"0 fetches, round {number}", fast.fetch, 0)
print("equal:", fast.values(0) == fast.values(1))
lanes.play()

# %% [markdown]
# Broker 0 asks with epoch 3, which broker 1 never had. Broker 1 answers with its greatest epoch that is not above it, **and names that epoch**: epoch 1 ends at 12. Broker 0 has no epoch 1; its next lower one is 0, which ends
# at 10. So it cuts there. The first form of leader epochs (KIP-101) answered with the offset only. Twelve is above broker 0's end of 11, so nothing is cut: `x` and `k` stand at the same offset, and in broker 0's log the epochs fall from 3 to 1. Rules 2 and 3 are broken. KIP-279 put the epoch into the answer. By KIP-101 alone:

# %%
with planted("a leader does not say of which epoch it speaks"):
    half = Replication(2, min_isr=1, unclean=True)
    lanes = ReplicaLanes(half, "By KIP-101 alone")
    fast_failovers(lanes)
    for number in (1, 2, 3):
        lanes.after(f"0 fetches, round {number}", half.fetch, 0)
print("broker 0:", *half.values(0)[9:], " broker 1:", *half.values(1)[9:])
lanes.play()

# %% [markdown]
# ## 5. Three witnesses
#
# The same workload by **minikafka**, by **Spark** from its lines alone, until the first leader dies, and by **Apache Kafka**: three brokers in one JVM with the same clock. The workload is also the controller: `change` is its decision,
# `publish` tells a broker, `answer` accepts what a leader has proposed. `follow 1`: broker 1 fetches once. `[3x10]`: a batch of three records with values of 10 bytes.

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
# At operation 20 the leader proposes to add broker 2, and the mark waits for it before the controller answers. After operation 23 broker 1 has six records and a mark of 5. It becomes leader with
# that mark. Operation 28 cannot raise it, because broker 2 asks for offset 5.
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
# The producer has its answer while the records are still on their way. If the leader and the network fail then, no broker has them.

# %% [markdown]
# ## 6. Exercises
#
# They have a notebook of their own: [Replication and leader epochs: rebuild](12-replication-rebuild.ipynb), three functions and four rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | `Partition`, `Replica`, ISR and its pending changes, high watermark, epoch cache, follower and its cuts, to the byte on disk | one process, one clock; a follower fetches when it is told to, over no socket | how a broker that stops cleanly is elected from the ELR |
# | election, epochs, the controller's checks of a proposal | one controller in the process; Kafka's is a Raft quorum with its own log | moving replicas to other brokers or disks, tiered logs |
# | checkpoints of the high watermark, restarts from the files of a killed process | the controller is told of a death; Kafka's notices it after 9 seconds without heartbeats | power failures, which lose what was not flushed |
#
# *What Spark is told:* the lines of part 5 and the tables of the exercises, and no code. For elections and cuts, Kafka alone is the judge.
#
# **A question to take along.** Consumers of one partition stand still, and producers with `acks=all` get `NOT_ENOUGH_REPLICAS`. The topic has three replicas, and all brokers are up. What do you check first?
#
# <details><summary>One answer</summary>
#
# The ISR, and since when it is small (`kafka-topics.sh --describe --under-min-isr-partitions`; the broker's log has each shrink and expand). Below `min.insync.replicas` the mark stands still and `acks=all` is refused. Then why the others left. Do they fetch (`ReplicaFetcherManager`: `MaxLag`, `DeadThreadCount`)? A fetcher that gave up a partition after an error (`FailedPartitionsCount`) stays out until the next change of the leader, or until its broker restarts. Do they fetch and stay behind? Then disk, network, `replica.fetch.max.bytes`, or too few
# `num.replica.fetchers`. `unclean.leader.election.enable` does not help: there is a leader. A lower `min.insync.replicas` lets clients go on, but then the failure of one disk can lose records.
#
# </details>

# %% [markdown]
# ### Card
#
# - The leader writes its epoch into every batch. The epoch cache has for each epoch in a log the offset at which it begins.
# - A high watermark tells what is committed. It does not tell which leader wrote the records: an epoch does.
# - A follower stays in the ISR if it was caught up at most `replica.lag.time.max.ms` ago. One that has every record is not behind, even if it does not fetch.
# - While elections are clean and no broker loses what it wrote, every member of the ISR holds what was acknowledged with `acks=all`; so a leader elected from it has it. If the ISR is empty, a living member of the ELR, where there is one, is elected, cleanly.
# - An unclean election may lose acknowledged records.
#
# ![Fetches, and what the leader answers](../diagrams/replication.svg)
#
# | the follower | where it cuts its log |
# |:---|:---|
# | has no answer from its leader yet | nowhere: it keeps all that it has |
# | differs from its leader nowhere | nowhere |
# | has more of an epoch than its leader has | where the epoch ends on the leader |
# | has an epoch of which its leader has never heard | the leader names its greatest epoch that is not above it; a follower without that one cuts where its own next lower epoch ends |
# | knows no epochs at all | at its own high watermark, by the old rule |

# %% [markdown]
# **Next:** a log directory at scale, in Spark.
