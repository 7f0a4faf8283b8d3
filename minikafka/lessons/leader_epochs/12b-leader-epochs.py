# %% [markdown]
# # Leader epochs
#
# *Three brokers keep one log while their leader changes. Which of its records does a follower keep, and which must it remove?*
#
# ## 1. The question
#
# **Time:** about forty-five minutes to read, thirty-five minutes to rebuild. **Before:** *Replication*; *Append*, for leader epochs.
#
# **Afterwards you can decide:** why consumers wait after a change of the leader, which dead broker to start first, and what an unclean election costs.
#
# Record `b` is written with `acks=all`. When its producer has the answer, all three brokers have the record.
#
# What goes wrong without leader epochs? Before them Kafka had this rule: *a broker that becomes a follower cuts its log at its own high watermark*.

# %%
from minikafka.lab import Replication, ___, diagram, erratum, planted, predict, step_through
from minikafka.lab.stage.replica_witnesses import by_minikafka, three_witnesses, wake_witnesses
from minikafka.lab.stage.replication import fast_failovers, two_failures, unclean_election
from minikafka.lab.widgets.replica_lanes import ReplicaLanes
from minikafka.lessons.leader_epochs.replica_deal import ReplicaDeal

with planted("a follower knows no leader epochs"):
    old = ReplicaLanes(Replication(), "Two failures, by the old rule")
    producer = two_failures(old)
wake_witnesses()
old.play(upto=4)

# %%
predict(
    "consumed-after-two-failures",
    "Broker 0 dies, and broker 1 leads. Then broker 1 dies, and broker 2 leads. How many of the records a and b does a consumer get?",
    ___,
    lambda: len(old.replication.consumed()),
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting meanwhile; part 5 needs them.
#
# (Kafka 4.3.0 still uses the old rule for a log without epochs; the bug hides them.)

# %%
print("the producer of b was told:", producer.answer, "(no error: it is acknowledged)")
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
# - **LEO**, **HW**, **ISR:** log end, high watermark (the *mark*), in-sync replicas.
# - **ELR**, eligible leader replicas: replicas that left an ISR which then had fewer members than `min.insync.replicas`. Below this minimum the HW stands still, so they have all that is committed. One of them may lead when the ISR is empty. The feature `eligible.leader.replicas.version` turns them on. It is at level 1 in a cluster formatted with 4.1 or later, and here.
# - **Unclean election:** the new leader is in neither the ISR nor the ELR. It may lack acknowledged records.

# %%
diagram("leader_epochs")

# %% [markdown]
# ## 3. The rules
#
# 1. Below a follower's HW, its log is equal to the leader's.
# 2. In a log epochs never fall. Two records with the same offset and the same epoch are the same record.
#
# (If elections are clean and no broker loses what it has written; rule 1 without compaction.)
#
# After the two failures brokers 0 and 1 return and fetch:

# %%
for broker in (0, 1):
    lanes.after(f"broker {broker} is back", sound.start, broker)
lanes.after("three rounds of fetches", lambda: [sound.fetch() for _ in range(3)])
states = [sound.lane(broker) for broker in range(3)]
leader = states[sound.leader]
print("rule 1:", all(state.records[: state.high_watermark] == leader.records[: state.high_watermark] for state in states))
print("rule 2:", all(epochs == sorted(epochs) for epochs in ([record.epoch for record in state.records] for state in states)))
lanes.play()

# %% [markdown]
# ## 4. The source, walked
#
# ### A new leader's mark
#
# Five records are written with `acks=all`, one after the other. For each of them every follower fetches twice. When `e` is acknowledged, the leader dies. Broker 1 leads and has all five. A consumer begins at offset 0.

# %%
orders = Replication(min_isr=2)
lanes = ReplicaLanes(orders, "A new leader's mark")
for value in "abcde":
    sent = orders.append(value)
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
# The new leader was never told of a mark above 4. Until its mark reaches the offset at which its epoch began, the leader gives consumers no latest offset. **A late mark loses nothing committed. After a failure consumers wait for a round.**
#
# ### Nobody is in sync
#
# Two brokers die, broker 0 last; then broker 0 starts again. Without ELR (level 0) and with it (level 1):

# %%
for level in (0, 1):
    last = Replication(2, eligible_leader_replicas_version=level)
    last.crash(1)
    last.crash(0)
    print(f"level {level}: both are dead, ISR {last.isr}, ELR {last.elr}", end="; ")
    last.start(0)
    print(f"broker 0 is back, leader {last.leader}, {last.leader_recovery_state}")

# %% [markdown]
# At level 0 the last member stays in the ISR; the partition waits for it, and trusts it. At level 1 the ISR is empty and broker 0 is in the ELR. But after a crash it may lack what it had not flushed, so the controller removes it from the ELR. Now both are empty: the last known leader may return, although unclean elections are off. That counts as unclean (`RECOVERING`). After a clean stop it would be elected from the ELR, cleanly.
#
# ### Deal the cards
#
# Three brokers, `min.insync.replicas=2`. The buttons append, let a broker fetch, let seconds pass, kill a broker or start it. Five have been pressed: broker 0 died after broker 1 had fetched `a` once, and broker 1 leads. Go on, or begin anew: can you lose a record that was acknowledged with `acks=all`? Can you make two logs differ below their marks?

# %%
game = ReplicaDeal(brokers=3, min_isr=2)
game.deal("append", "fetch 1", "power 0", "fetch 2", "fetch 2")
game.play()

# %% [markdown]
# You can't; nor could a test that drew thousands of such steps. An unclean election can.
#
# ### Where two logs part
#
# Two brokers; the topic allows unclean elections (`unclean.leader.election.enable`, off by default). Both have `a`. Broker 1 dies, and `b` is written to broker 0, alone in the ISR. Broker 0 dies as well. Broker 1 comes back, is elected uncleanly, and appends `c` at the offset of `b`. Then broker 0 is back as a follower. It asks for offset 2, and says that its last record is of epoch 0. The leader looks into its epoch cache.

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
    "At which offset does broker 0 cut its log? (2 means that nothing is cut)",
    ___,
    lambda: twin.lane(0).log_end,
)

# %%
CUT = {"Partition._read_records", "get_offset_truncation_state"}
LOCALS = {"epoch_end_offset", "diverging_epoch", "diverging_end_offsets", "leader_epoch_offset", "replica_end_offset", "found", "end_offset"}
watched = {"into": CUT, "locals_of_interest": LOCALS, "watch": parted.log(0)}
walk = lanes.after("broker 0 fetches, and cuts", lambda: step_through(parted.fetch, 0, **watched))
walk.play()

# %%
lanes.after("broker 0 fetches again", parted.fetch, 0)
lanes.after("broker 0 fetches once more", parted.fetch, 0)
print("broker 0:", *parted.values(0), " broker 1:", *parted.values(1))
lanes.play()

# %% [markdown]
# The logs are equal again. `b` is gone, although it was acknowledged. **That is the price of an unclean election.** The old rule cost more. Broker 0 had written its high watermark, 2, to disk before it died. What does it cut by that rule?

# %%
with planted("a follower knows no leader epochs"):
    apart = Replication(2, min_isr=1, unclean=True)
    lanes = ReplicaLanes(apart, "The same by the old rule")
    unclean_election(lanes)
    lanes.after("broker 0 fetches", apart.fetch, 0)
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
# Both brokers are in sync and differ at offset 1: consumers see `b` or `c`, depending on who leads. In part 1 a late mark lost a record; here a mark that covered `b` kept a record that the leader does not have. **A high watermark tells what is committed. It does not tell which leader wrote the records.** An epoch does.
#
# ### When the leader has never heard of the epoch
#
# Ten records in epoch 0 are on both brokers. Then elections follow quickly, each time with one broker alive: broker 1 writes `k` and `l`, broker 0 writes `x`, broker 1 leads again and writes `m`. Now broker 0 is back.

# %%
fast = Replication(2, min_isr=1, unclean=True)
lanes = ReplicaLanes(fast, "What KIP-279 mended")
fast_failovers(lanes)
print("broker 1 leads:", fast.lane(1).epochs, "log end", fast.lane(1).log_end)
print("broker 0 follows:", fast.lane(0).epochs, "log end", fast.lane(0).log_end)
lanes.after("broker 0 fetches", fast.fetch, 0)
end_after_fetch = fast.lane(0).log_end

# %%
predict(
    "unknown-epoch-cuts-at",
    "At which offset does broker 0 cut its log?",
    ___,
    lambda: end_after_fetch,
)

# %%
for number in (2, 3):
    lanes.after(f"broker 0 fetches, round {number}", fast.fetch, 0)
print("equal:", fast.values(0) == fast.values(1))
lanes.play()

# %% [markdown]
# Broker 0 asks with epoch 3, which broker 1 never had. Broker 1 answers with its greatest epoch that is not above it, **and names that epoch**: epoch 1 ends at 12. Broker 0 has no epoch 1; its next lower one is 0, which ends at 10. So it cuts there.

# %% [markdown]
# ## 5. Three witnesses
#
# Three run the last story, shorter: **minikafka**, **Spark** (from its lines alone, until the first leader dies) and **Apache Kafka** (two brokers in one JVM with the same clock). The workload is also the controller: `change` elects, `publish` tells a broker. `follow 0`: broker 0 fetches once. `[2x10]`: a batch of two records with values of 10 bytes.

# %%
from minikafka.witness import agree
from minikafka.witness.replicas.workload import ReplicaWorkload

workload = ReplicaWorkload.parse("""
start 0
start 1
topic t 0,1 min.insync.replicas=1
publish 0
publish 1
produce 0 t-0 [2x10]
follow 1
follow 1
crash 0
change t-0 leader=1 isr=1
publish 1
produce 1 t-0 [1x10]
produce 1 t-0 [1x10]
crash 1
start 0
change t-0 leader=0 isr=0
publish 0
produce 0 t-0 [1x10]
crash 0
start 1
change t-0 leader=1 isr=1
publish 1
produce 1 t-0 [1x10]
start 0
follow 0
follow 0
follow 0
""")
ours, spark, kafka = three_witnesses(workload)
for number in (7, 12, 17, 22, 23, 24, 25, 26):
    row = ours.rows[number]
    print(f"{number:2} {workload.operations[number]!s:20} log ends {row['log_ends']}  epochs {row['epochs']}")
agree(ours, spark, kafka)

# %% [markdown]
# Now a bug is planted, which Kafka had: leader epochs in their first form (KIP-101). A leader answered with an offset, and did not say of which epoch it spoke. KIP-279 put the epoch into the answer.

# %%
with planted("a leader's answer does not name the epoch"):
    sick = by_minikafka(workload)
found = agree(sick, spark, kafka)

# %%
predict(
    "kip-101-differs-after",
    "After which operation does minikafka with this bug first differ from another witness?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
print(found.first_difference)
print("epochs at the end:", sick.value(26, "epochs"), " and should be", ours.value(26, "epochs"))
with planted("a leader's answer does not name the epoch"):
    half = Replication(2, min_isr=1, unclean=True)
    lanes = ReplicaLanes(half, "Part 4's story by KIP-101 alone")
    fast_failovers(lanes)
    for number in (1, 2, 3):
        lanes.after(f"broker 0 fetches, round {number}", half.fetch, 0)
print("part 4's story; broker 0:", *half.values(0)[9:], " broker 1:", *half.values(1)[9:])
lanes.play()

# %% [markdown]
# The leader's answer, 4, is above broker 0's end of 3, so broker 0 cuts nothing. In part 4's story `x` and `k` stand at the same offset, and in broker 0's log the epochs fall from 3 to 1. Both rules are broken.

# %% [markdown]
# ## 6. Exercises
#
# [Leader epochs: rebuild](12b-leader-epochs-rebuild.ipynb) has two functions and a rung.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | election, epochs, epoch cache, follower and its cuts, to the byte on disk | one process, one clock, one controller; Kafka's is a Raft quorum with its own log | how a broker that stops cleanly is elected from the ELR |
# | checkpoints of the high watermark, restarts from the files of a killed process | the controller learns of a death at once | power failures, which lose what was not flushed |
#
# *What Spark is told:* lines and tables, and no code. For elections and cuts, Kafka alone is the judge.
#
# **A question to take along.** All three brokers of a partition have crashed. One is back, and the partition has no leader. Somebody wants to run `kafka-leader-election.sh --election-type unclean`. What do you check first?
#
# <details><summary>One answer</summary>
#
# Who is in the ISR and the ELR, and who led last (`kafka-topics.sh --describe`: `Isr`, `Elr`, `LastKnownElr`). Such a broker has what was acknowledged, if its disk still has it. If it can be started, start it and wait. Otherwise an unclean election loses every record that the elected replica lacks: the other replicas cut theirs, and consumers that had read further find their offsets out of range.
#
# </details>

# %% [markdown]
# ### Card
#
# - The leader writes its epoch into every batch. The epoch cache has for each epoch in a log the offset at which it begins.
# - A high watermark tells what is committed. It does not tell which leader wrote the records: an epoch does.
# - A new leader's mark is late. Consumers wait for a round, and nothing committed is lost.
# - Without the ELR the last member of the ISR stays in it. With the ELR (clusters formatted with 4.1 or later) the ISR may be empty; then a living member of the ELR is elected, cleanly.
# - An unclean election may lose acknowledged records.
#
# ![Where two logs part, by their epochs](../diagrams/leader_epochs.svg)
#
# | the follower | where it cuts its log |
# |:---|:---|
# | has no answer from its leader yet | nowhere: it keeps all that it has |
# | differs from its leader nowhere | nowhere |
# | has more of an epoch than its leader has | where the epoch ends on the leader |
# | has an epoch of which its leader has never heard | the leader names its greatest epoch below that one. A follower that has the named epoch cuts at the lower of that epoch's two ends, its own and the leader's; another cuts where its own next lower epoch ends, and fetches again |
# | knows no epochs at all | at its own high watermark, by the old rule |

# %% [markdown]
# **Next:** a log directory at scale, in Spark.
