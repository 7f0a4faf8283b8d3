# %% [markdown]
# # 高水位：重写
#
# *四个待完成的函数，日志中三个待重写的方法。*
#
# [English](../03-high-watermark-rebuild.ipynb)
#
# **时间：** 一小时，函数半小时，重写题半小时。**前置：** 读过[高水位](03-high-watermark.ipynb)一课。
#
# `___` 是留给你填的空。`check` 会说：正确；还不对，并给出第一处差异；或者还没有做。需要帮助时，调用有 `check` 的那个对象的 `hint()` 或 `solution()`：每调用一次 `least_end.hint()`，就多透露一点；`least_end.solution()` 给出一种写法（重写题要自己先试一次，它才会打开）。这个 notebook 有自己的内核，它不知道那一课里运行过什么：请从第一个单元格开始。它要运行几秒，因为它唤醒 Spark 和 Apache Kafka，由它们来评判。

# %%
from minikafka.lab import ___, use_language, wake_witnesses

use_language("zh")
wake_witnesses()

# %% [markdown]
# ## 练习
#
# 每个练习是一个函数。`check` 把它与 Spark 的答案比较，并报告第一处差异。

# %%
from minikafka.lessons.high_watermark.exercises import acks_all, clamp, increment, least_end

# %% [markdown]
# **练习 1，最小的末端，用 Spark。** *为什么：每个消费者能看到什么，都由这一个数决定。* Kafka 的方法是 `Partition.maybeIncrementLeaderHW`。`ends.sparkSession.sql("SELECT … FROM {ends}", ends=ends)` 可以查询这张表。

# %%
def high_watermarks(ends):
    """ends：DataFrame，列为 t、replica、end，即每个 t 时的同步副本。follower 还没有拉取时，end 为 null：
    leader 不知道它的末端，也就不推进高水位。返回 DataFrame，列为 t、hw，按 t 升序；hw 从 0 开始，遵守规则 3 和 4。

    例：t 为 0 时末端是 3 和 2，t 为 1 时是 3 和 3，结果是 (0, 2)、(1, 3)。
    """
    return ___


least_end.check(high_watermarks)

# %% [markdown]
# **练习 2，update_high_watermark。** *为什么：检查点与日志不符时，broker 就是这样处理的。* Kafka 的方法是 `UnifiedLog.updateHighWatermark`。

# %%
def updated(old, suggested, log_start, log_end):
    """参数都是 offset。log_start 含，log_end 不含。返回 update_high_watermark(suggested) 之后的高水位。

    例：updated(5, 7, 0, 10) 是 7。
    """
    return ___


clamp.check(updated)

# %% [markdown]
# **练习 3，maybe_increment_high_watermark。** *为什么：是修正一个值，还是拒绝它，差别在于能否及早发现程序错误。* Kafka 的方法是 `UnifiedLog.maybeIncrementHighWatermark`。

# %%
def incremented(old, new, log_end):
    """参数都是 offset。返回 "moved"（移动）、"stays"（不动）或 "refused"（拒绝：抛出异常）。

    例：incremented(4, 6, 10) 是 "moved"。
    """
    return ___


increment.check(incremented)

# %% [markdown]
# **练习 4，acks=all 何时得到应答，用 Spark。** *为什么：从写入到这一刻，你的生产者一直在等待。* Kafka 的方法是 `Partition.checkEnoughReplicasReachOffset`。

# %%
def answered(appends, watermarks):
    """appends：DataFrame，列为 t、last_offset；watermarks：DataFrame，列为 t、hw。返回 t 和 answered，
    即 acks=all 的生产者得到应答的第一个 t（null：永远得不到），按 t 的顺序。

    例：追加 (0, 2) 与高水位 (0, 0)、(1, 2)、(2, 3)，结果是 (0, 2)。
    """
    return ___


acks_all.check(answered)

# %% [markdown]
# ## 重写
#
# 重新写出日志的三个方法。minikafka 会用你的函数代替原来的方法，运行这一页没有列出的工作负载，Apache Kafka 也做同样的事：每个操作之后可以观察到的一切必须一致，最后磁盘上的每一个字节也必须一致。第 2 级可以调用第 1 级写出的方法。

# %%
from minikafka.lessons.high_watermark.rungs import clamps, follows, increments
from minikafka.log.log_offset_metadata import LogOffsetMetadata

clamps

# %%
def update_high_watermark(self, high_watermark):
    """self：一个 Log；high_watermark：一个 offset，或一个 LogOffsetMetadata。设置高水位，返回实际设置的 offset。"""
    return ___


clamps.check(update_high_watermark)

# %%
follows

# %%
def maybe_update_high_watermark(self, high_watermark):
    """self：follower 的 Log；high_watermark：它的 leader 告知的 offset。返回新的高水位；没有变化时返回 None。"""
    return ___


follows.check(maybe_update_high_watermark)

# %%
from minikafka.common.errors import IllegalArgumentException

increments

# %%
def maybe_increment_high_watermark(self, new_high_watermark):
    """self：leader 的 Log；new_high_watermark：一个 LogOffsetMetadata。返回原来的高水位和它的位置；不动时返回 None。"""
    return ___


increments.check(maybe_increment_high_watermark)
