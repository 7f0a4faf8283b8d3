# %% [markdown]
# # 高水位
#
# *哪个 offset 以下的消息是安全的？有一个数给出答案。*
#
# [English](../03-high-watermark.ipynb)
#
# ## 1. 问题
#
# **时间：** 阅读约一小时，重写一小时。**前置：** *Segments*（日志段）一课；走两小时路线的话，*Start here* 第 2 部分就够了。（那样就跳过*offset 和它的位置*、*查找元数据*和第 5 部分。）
#
# **学完之后，你能判断：** 消息已经在 leader 的磁盘上，消费者为什么还看不到它；是哪个副本拖住了它；`acks=all` 在等什么。
#
# 没有高水位会出什么问题？让消费者读到 leader 拥有的一切。leader 有 `0`、`1`、`2` 三条消息，follower 已经拉取了其中两条。

# %%
from minikafka.lab import OffsetRuler, ___, copied_log, diagram, erratum, fresh_log, planted, predict
from minikafka.lab import records, replicate, scratch, step_through, three_witnesses, use_language, values_of, wake_witnesses
from minikafka.lessons.high_watermark.replicas import Replicas
from minikafka.log.fetch_isolation import FetchIsolation

use_language("zh")
leader, follower = fresh_log(name="leader-0"), fresh_log(name="follower-0")
for number in range(3):
    leader.append_as_leader(records(1, 1, first=number), leader_epoch=0)
replicate(leader, follower, up_to=2)
wake_witnesses()
Replicas(leader, ["follower"]).fetch("follower", 2).play()

# %%
follower.append_as_leader(records(1, 1, first=7), leader_epoch=1)
seen = values_of(leader, FetchIsolation.LOG_END)
at_the_follower = values_of(follower, FetchIsolation.LOG_END)

# %%
predict(
    "offset-2-after-failover",
    "leader 宕机；follower 成为 leader。生产者向它发送消息 7。消费者在哪个 offset 读到这条消息？",
    ___,
    lambda: at_the_follower.index("7"),
)

# %% [markdown]
# `___` 是留给你填的空。从第一个单元格起，Spark 和 Apache Kafka 就在启动；第 5 部分要用到它们。

# %%
from minikafka.log.log_offset_metadata import LogOffsetMetadata

print("没有高水位时，消费者看到", seen)
print("同一个消费者再读一次，看到", values_of(follower, FetchIsolation.LOG_END))
print("高水位", leader.high_watermark, " 消费者看到", values_of(leader, FetchIsolation.HIGH_WATERMARK))

# %% [markdown]
# offset 2 原来是消息 `2`，现在成了消息 `7`。follower 从 offset 2 拉取过：leader 由此知道它有 0 和 1，就把高水位推进到 2。只读到那里的消费者，根本不会看到消息 `2`。
#
# **每一个同步副本都有了某条消息，这条消息才可见，绝不提前。**

# %% [markdown]
# ## 2. 图示

# %%
diagram("high_watermark")

# %% [markdown]
# - **LEO**（log end offset，日志末端位移）：下一条消息将要写入的 offset。那里还没有消息。
# - **HW**（high watermark，高水位）：它以下的每条消息，所有同步副本都已拥有。
# - **ISR**（in-sync replicas，同步副本集合）：leader，以及跟得上的 follower。
# - **日志起始位移**（log start offset）：可以读取的第一个 offset。**LSO**（last stable offset，最后稳定位移）：等于 HW；有事务尚未结束时可能更小。
#
# LEO、HW 和 LSO 都是**不含自身**的上界：上界为 2，就不包括 offset 2。高水位为 2，表示 0 和 1 已提交。
#
# 每隔几秒，broker 就把所有分区的高水位写进一个文件，每个日志目录一个。下一个单元格从中读出 `data/orders-0` 的高水位。

# %%
from pathlib import Path

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile

TOPIC = {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1}
orders = copied_log("../data/orders-0", TOPIC)
checkpoint = OffsetCheckpointFile(Path("../data/replication-offset-checkpoint")).read()
print("只看日志:", orders.high_watermark, " broker 的检查点:", checkpoint[orders.topic_partition])

# %%
erratum(
    "高水位从日志起始位移开始",
    "只在日志的构造函数里如此；随后 Partition.createLog 会设置检查点里的值",
    f"打开之后是 {orders.high_watermark}，设置检查点的值之后是 {orders.update_high_watermark(checkpoint[orders.topic_partition])}",
)

# %% [markdown]
# ## 3. 规则
#
# 1. LSO ≤ HW ≤ LEO；日志起始位移 ≤ LSO，除非它位于一个批次内部。
# 2. 消费者看到 HW 以下的消息，follower 看到 LEO 以下的消息。
# 3. 在 leader 上，拉取绝不会让 HW 下降，也绝不会让它超过 LEO。（启动或截断可能让它下降。）
# 4. HW *至多*等于同步副本中最小的末端，并且会达到它，除非即将加入 ISR 的 follower，或者小于 `min.insync.replicas` 的 ISR 拖住了它。（leader 的末端是 LEO，follower 的末端是最近一次拉取的 offset。）
# 5. 在 follower 上，HW 是 leader 说的值，但绝不超过 follower 自己拥有的。
#
# 一个日志有十条消息。follower 1 从 8 拉取，follower 2 从 6 拉取；第三个 follower 有四条消息：

# %%
log = fresh_log()
for number in range(10):
    log.append_as_leader(records(1, 1, first=number), leader_epoch=0)
replicas = Replicas(log).fetch("follower 1", 8).fetch("follower 2", 6)
print("规则 1:", log.log_start_offset <= log.last_stable_offset <= log.high_watermark <= log.log_end_offset)
seen = [len(values_of(log, isolation)) for isolation in (FetchIsolation.HIGH_WATERMARK, FetchIsolation.LOG_END)]
print("规则 2:", seen == [log.high_watermark, log.log_end_offset], " 消费者和 follower 看到", seen)
moved = log.maybe_increment_high_watermark(LogOffsetMetadata(3))
print("规则 3:", moved is None and log.high_watermark > 3, " 要求它降到 3，它仍然是", log.high_watermark)
print("规则 4:", log.high_watermark == min(log.log_end_offset, 8, 6))

# %%
third = fresh_log(name="follower-0")
replicate(log, third, up_to=4)
print("规则 5:", third.maybe_update_high_watermark(log.high_watermark) == min(log.high_watermark, third.log_end_offset))
erratum(
    "follower 读到高水位为止，普通消费者读到 LEO 为止",
    "正好相反：消费者（HIGH_WATERMARK）读 HW 以下，follower（LOG_END）读 LEO 以下，否则什么也复制不了",
    f"{log.log_end_offset} 条消息中，消费者看到 {len(values_of(log, FetchIsolation.HIGH_WATERMARK))} 条，"
    f"follower 看到 {len(values_of(log, FetchIsolation.LOG_END))} 条",
)

# %% [markdown]
# ## 4. 走读源码
#
# ### offset 和它的位置
#
# 高水位是一个 `LogOffsetMetadata`：offset、所在日志段的基准位移，以及它在日志段中的字节位置。所以读取操作知道该在哪里停下；同一个日志段上的两个位置，还能说出它们之间有多少字节。

# %%
orders = copied_log("../data/orders-0", TOPIC)
snapshot = orders.fetch_offset_snapshot()
print("日志末端:", snapshot.log_end_offset)
print("高水位:", snapshot.high_watermark)
bare = LogOffsetMetadata(33)
print("没有位置的:", bare, " 只含 offset:", bare.message_offset_only)

# %% [markdown]
# `(offset=90, segment=[75:915])`：下一条消息写到从 75 开始的日志段的字节 915 处。**没有位置**的 `LogOffsetMetadata`，两处都是 −1。`maybe_convert_to_offset_metadata` 在日志的那个 offset 处读取，由此找到它的位置。

# %%
here, there = (orders.maybe_convert_to_offset_metadata(offset) for offset in (30, 36))
print(here, there, " 相距字节数:", there.position_diff(here))
print("在同一个日志段上:", here.on_same_segment(there), " 第一个在更旧的日志段上:", here.on_older_segment(snapshot.log_end_offset))

# %%
predict(
    "position-diff-to-end",
    "there.position_diff(snapshot.log_end_offset) 的结果是哪个数，或哪个异常：'IllegalArgumentException' 还是 'KafkaException'？",
    ___,
    lambda: there.position_diff(snapshot.log_end_offset),
)

# %% [markdown]
# 36 在日志段 30 的文件里，日志末端在日志段 75 的文件里。字节数只能在同一个文件之内计算。所以调用者先比较日志段，方法有两个：

# %%
erratum(
    "onOlderSegment 判断给定的 offset 是否在更旧的日志段上",
    "它判断的是：这个 offset 所在的日志段，是否比给定的 offset 所在的更旧",
    f"{here}.on_older_segment({snapshot.log_end_offset}) → {here.on_older_segment(snapshot.log_end_offset)}",
)

# %% [markdown]
# ### 多条路，一个 setter
#
# 加载、截断、日志起始位移越过高水位时，以及 follower 的方法，都调用 `update_high_watermark`。这里的日志有十条消息，高水位在 6，要求把它设为 12。（它的位置 `segment=[0:690]` 表示：在从 0 开始的日志段的字节 690 处；`[-1:-1]` 表示不知道位置。）

# %%
log, twin = fresh_log(), fresh_log()
for each in (log, twin):
    for number in range(10):
        each.append_as_leader(records(1, 1, first=number), leader_epoch=0)
    each.update_high_watermark(6)
ruler = OffsetRuler(log, "高水位在移动").snap("十条消息，高水位在 6")
diagram("high_watermark_methods")

# %%
predict(
    "update-beyond-log-end",
    "日志的末端是 10，update_high_watermark(12) 返回什么？",
    ___,
    lambda: twin.update_high_watermark(12),
)

# %%
step_through(log.update_high_watermark, 12, watch=log, into={"Log.update_high_watermark", "Log._update_high_watermark_metadata"}).play()

# %% [markdown]
# 传入的值在日志之外时，这个方法把它移到最近的界限上。setter 用一个新的不可变 `LogOffsetMetadata` 换掉旧的，所以读取它不用加锁。然后它通知生产者状态和监听器，并移动 LSO。`update_high_watermark` 也可以让高水位**后退**：

# %%
ruler.snap("update_high_watermark(12)")
log.update_high_watermark(4)
ruler.snap("update_high_watermark(4)：可以下降").play()

# %% [markdown]
# ### leader 的方法
#
# `Partition` 在这些时候调用 `maybe_increment_high_watermark`：追加之后、一次带来新信息的拉取之后、ISR 变化之后，以及开始担任 leader 时。高水位移动了，这个方法就返回**原来的**高水位，否则返回 None：`Partition` 由此知道，能否应答正在等待的生产者。（`acks=all` 的生产者一直等到高水位越过它的消息。）

# %%
predict(
    "increment-beyond-log-end",
    "日志的末端是 10，maybe_increment_high_watermark(LogOffsetMetadata(11)) 的结果是哪个值，或哪个异常：'IllegalArgumentException'、'KafkaException' 还是 'OffsetOutOfRangeException'？",
    ___,
    lambda: twin.maybe_increment_high_watermark(LogOffsetMetadata(11)),
)

# %%
walk = step_through(log.maybe_increment_high_watermark, LogOffsetMetadata(11), watch=log)
print(walk.frames[-1].outcome)
step_through(
    log.maybe_increment_high_watermark,
    log.log_end_offset_metadata,
    watch=log,
    into={"Log.maybe_increment_high_watermark", "Log._update_high_watermark_metadata"},
).play()

# %% [markdown]
# setter 在这里运行了两次：先给原来的高水位 4 补上位置，再设置新的高水位。
#
# offset 相同但在更新的日志段上，也算*向前*。切分把日志末端移到新的位置，offset 不变；高水位也随之移过去：

# %%
before = log.fetch_offset_snapshot().high_watermark
log.roll()
print(before, "→", log.fetch_offset_snapshot().high_watermark)
erratum(
    "新的日志末端低于高水位时，才修正高水位",
    "低于或等于时都会修正：相等时，会在切分或追加之后刷新位置",
    f"日志末端仍是 {log.log_end_offset}，高水位从 {before} 变为 {log.fetch_offset_snapshot().high_watermark}",
)

# %% [markdown]
# ### follower 的方法
#
# follower 从 leader 的应答中得知高水位。`maybe_update_high_watermark` 把它限制在 follower 自己的消息之内，并且只报告变化：

# %%
follower = fresh_log(name="follower-0")
replicate(log, follower, up_to=5)
for told in (3, 8, 8, 2):
    print("leader 说", told, " 变为:", follower.maybe_update_high_watermark(told), " HW:", follower.high_watermark)

# %% [markdown]
# leader 说 8，它只到 5：follower 没有更多的消息。leader 说 2，它**后退**：follower 相信自己的 leader。（新 leader 的高水位可能会暂时落后。）
#
# ### 查找元数据
#
# `update_high_watermark(34)` 只知道 offset，不知道位置。第一个需要位置的读取者在那个 offset 处读取日志，并把高水位设为这次读取报告的位置。offset 34 在某个批次的中间。

# %%
orders, orders_twin = (copied_log("../data/orders-0", TOPIC) for _ in range(2))
for each in (orders, orders_twin):
    each.update_high_watermark(34)
batch = next(batch for batch in orders.log_segments[2].log.batches() if batch.last_offset >= 34)
print("设为", orders.high_watermark, " 所在批次从", batch.base_offset, "到", batch.last_offset)

# %%
predict(
    "mark-after-first-read",
    "一个读取者查过高水位的位置之后，高水位在哪个 offset？",
    ___,
    lambda: orders_twin.fetch_offset_snapshot().high_watermark.message_offset,
)

# %%
walk = step_through(
    orders.read, 30, 1_048_576, FetchIsolation.HIGH_WATERMARK,
    watch=orders, into={"Log._fetch_high_watermark_metadata", "Log._update_high_watermark_metadata"},
)  # fmt: skip
walk.play()

# %% [markdown]
# 读取找到的是整个批次，报告的是批次从哪里开始，所以它让高水位从 34 降到了 33。Kafka 4.3.0 也是如此。规则 3 仍然成立：由拉取得出的高水位总在两个批次之间，所以读取不会移动它。
#
# ### 一个 leader 和两个 follower
#
# 列表中的每一对是一次到达 leader 的拉取。*从 x 拉取*的意思是：x 以下的我都有了。除此之外，leader 没有别的办法了解 follower。

# %%
fetches = [
    ("follower 1", 0), ("follower 2", 0), ("follower 1", 5), ("follower 2", 3),
    ("follower 2", 5), ("follower 1", 8), ("follower 2", 8),
]  # fmt: skip
leader = fresh_log()
for number in range(8):
    leader.append_as_leader(records(1, 1, first=number), leader_epoch=0)
replicas = Replicas(leader)
for name, offset in fetches:
    replicas.fetch(name, offset)

# %%
predict(
    "mark-after-follower-fetch",
    "follower 1 从 5 开始拉取时，follower 2 刚刚从 0 拉取过。这次拉取之后，高水位是多少？",
    ___,
    lambda: replicas.frames[3].hw,
)

# %%
replicas.play(at=3)

# %% [markdown]
# 高水位晚一轮才到。收到响应之后，follower 的磁盘上就有了消息 0 到 4，但是要等到下一次拉取请求 5，leader 才知道。那次拉取的响应如果带有消息，带的仍是旧的高水位：leader 先读取，后推进高水位。
#
# 请你自己拖动拉取。你能让高水位下降吗？

# %%
playground = Replicas(fresh_log(), title="拖动一个 follower")
for number in range(12):
    playground.append(records(1, 1, first=number))
playground.drag()

# %% [markdown]
# 不能。现在同一个 leader 又得到四条消息。follower 1 把它们全部拉取；follower 2 很慢，离开了 ISR。

# %%
for number in range(8, 12):
    replicas.append(records(1, 1, first=number))
replicas.fetch("follower 1", 12)
held = leader.high_watermark
replicas.shrink("follower 2")
print("被拖住时是", held, " 没有 follower 2 之后是", leader.high_watermark)

# %% [markdown]
# ## 5. 三个证人
#
# **minikafka** 运行这个工作负载，**Spark** 只根据这些行推算，真正的 **Apache Kafka** 也运行它。`fetch 1 4`：follower 1 从 offset 4 拉取。`isr 1` 把 follower 2 移出 ISR；`isr 1,2` 又把它加回来，虽然它仍然落后。（真正的 broker 会等它追上高水位。）minikafka 的 `Partition` 为两个日志算出最小的末端。（操作从 0 数起，即第一次追加；最上面的 `isr 1,2` 是开始时的状态。）

# %%
from minikafka.witness import Workload, agree, minikafka_log, run

workload = Workload.parse("""
isr 1,2
append_as_leader [1x10]
append_as_leader [1x10]
append_as_leader [1x10]
append_as_leader [1x10]
fetch 1 4
fetch 2 1
isr 1
isr 1,2
fetch 2 3
read 0 isolation=high_watermark
""")
ours, spark, kafka = three_witnesses(workload)
print("minikafka 的高水位:", ours.column("high_watermark"))
print("Spark 的高水位:    ", spark.column("high_watermark"))
agree(ours, spark, kafka)

# %% [markdown]
# 再来看批次中间的高水位，它会被一次读取移动。Spark 没有相应的规则，横线表示它不表态：

# %%
surprise = Workload.parse("append_as_leader [3x10]\nappend_as_leader [3x10]\nupdate_high_watermark 4\nread 0 isolation=high_watermark")
ours_2, spark_2, kafka_2 = three_witnesses(surprise)
for witness in filter(None, (ours_2, spark_2, kafka_2)):
    print(f"{witness.witness:12}", witness.column("high_watermark"))
print("证人意见一致:", bool(agree(ours_2, spark_2, kafka_2)))

# %% [markdown]
# 现在故意植入一个 bug：leader 的高水位可以下降。（比较时，先看调用的*返回值*，再看高水位。）

# %%
with planted("the leader's high watermark may fall"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "mark-differs-after",
    "在哪个操作之后，证人之间第一次出现分歧？",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "mark-result-contradicted-by",
    "在那里，有几个证人与 minikafka 的返回值说法不同（1 或 2）？",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)
print("有这个错误时的高水位:", sick.column("high_watermark"))

# %% [markdown]
# *返回值*（`result`）是调用返回的内容：高水位移动了，就是原来的高水位。正确的日志没有移动它，所以返回的是 `none`。
#
# ## 6. 练习
#
# [高水位：重写](03-high-watermark-rebuild.ipynb) 里有四个函数，三道重写题。

# %% [markdown]
# ## 7. 实话实说
#
# | 与 Kafka 相同 | 比 Kafka 简单 | 这里没有展示 |
# |:---|:---|:---|
# | 移动高水位的每一个方法，以及它的检查和异常 | follower 是表里的行，不是 broker | `Partition`：它询问 ISR，以及即将加入 ISR 的 follower |
# | 查找位置，以及查找会移动批次中间的高水位 | 锁是 Python 的 | `min.insync.replicas`：ISR 小于它时，高水位停住不动 |
# | 高水位告知生产者状态和最后稳定位移的内容 | 没有监控指标 | ISR 本身如何达成一致 |
#
# *告诉 Spark 的内容：* 每个批次的大小，取自消息构建器。
#
# **一个带走的问题。** 某个分区的消费者看不到任何新消息，而它的 leader 的 LEO 在增长。你先检查什么？
#
# <details><summary>一种回答</summary>
#
# 哪个同步副本的末端最小？高水位在等它。落后没有超过 `replica.lag.time.max.ms` 的 follower 会留在 ISR 里。如果 ISR 小于 `min.insync.replicas`，高水位就停住不动。对于 `read_committed` 消费者，接下来要看最后稳定位移：尚未结束的事务会拖住它。
#
# </details>

# %% [markdown]
# ### 卡片
#
# - HW 以下的每条消息，所有同步副本都已拥有。消息低于 HW 时，消费者才能看到它，绝不提前。
# - LSO ≤ HW ≤ LEO。高水位为 2，表示 0 和 1 已提交。
# - follower 只用一种办法告诉 leader 自己到了哪里：它从哪个 offset 拉取。所以高水位晚一轮才到。
# - 在 leader 上，拉取绝不会让 HW 下降，也绝不会让它超过 LEO。拖住它的，是末端最小的那个同步副本。
# - 在 follower 上，HW 是 leader 说的值，但绝不超过 follower 自己拥有的。它可能后退。
#
# ![高水位如何上升](../../diagrams/zh/high_watermark.svg)
#
# | 谁在读 | 读到哪里 |
# |:---|:---|
# | follower | LEO 以下 |
# | 消费者 | HW 以下 |
# | `read_committed` 消费者 | LSO 以下：等于 HW；有事务尚未结束，或其标记还没有低于 HW 时可能更小 |
# | 以上各方 | 都从日志起始位移开始 |

# %% [markdown]
# **下一课：** *Append*（追加），LEO 在那里移动，一次追加要走十五步。（走两小时路线：[The produce path](../11a-produce-path.ipynb)。）
