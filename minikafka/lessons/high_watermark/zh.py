"""Chinese: what the lab says in *High watermark* alone, by the English text."""

CATALOGUE = {
    "The follower never had the record 2: its log ended at 2.": "follower 从来没有消息 2：它的日志末端是 2。",
    "Bytes can be compared only within one file.": "字节数只能在同一个文件之内比较。",
    "The mark can't pass the log end: what is not written is not replicated.": (
        "高水位不能越过日志末端：没有写入的，就谈不上已经复制。"
    ),
    "The mark is exclusive. At LEO all of the log is committed.": (
        "高水位是开区间的上界。它等于 LEO 时，表示整个日志都已提交。"
    ),
    "update_high_watermark does not refuse the value: it takes the nearest one allowed.": (
        "update_high_watermark 并不拒绝这个值：它取最接近的合法值。"
    ),
    "update_high_watermark would do that. Here the leader computed the value: above LEO it must be a bug.": (
        "那是 update_high_watermark 的做法。这里的值是 leader 算出来的：超过 LEO，一定是程序错误。"
    ),
    "That is for readers. An argument that can't be right is an IllegalArgumentException.": (
        "那个异常是给读取者的。不可能正确的参数，对应的是 IllegalArgumentException。"
    ),
    "The lookup reads the batch, and since Kafka 4.0 a read reports the batch's base offset.": (
        "查找位置时读的是批次，而从 Kafka 4.0 起，读取报告的是批次的基准位移。"
    ),
    "Here it goes down: consumers must not see what is not committed.": (
        "这里它会后退：没有提交的消息，消费者不能看见。"
    ),
    "HW is not the highest LEO: offsets 0 to 4 were on the leader and on one follower only.": (
        "HW 不是最大的 LEO：offset 0 到 4 当时只在 leader 和一个 follower 上。"
    ),
    "8 is the leader's own end. The mark is the least end in the ISR.": (
        "8 是 leader 自己的末端。高水位是 ISR 中最小的末端。"
    ),
    "Taking follower 2 out raises the mark, with and without the bug.": (
        "把 follower 2 移出 ISR 会让高水位上升，有没有这个错误都一样。"
    ),
    "There the mark first rises. Only a step back shows the bug.": (
        "高水位在那里第一次上升。只有后退的一步才能暴露这个错误。"
    ),
    "Spark computes the mark, not what a call returns.": ("Spark 推算的是高水位，而不是调用返回什么。"),
    "Leader and followers": "leader 与 follower",
    "leader's LEO {leo}, {fetched}, HW {hw}": "leader 的 LEO {leo}，{fetched}，HW {hw}",
    "{name} has not fetched": "{name} 还没有拉取",
    "{name} fetched {end}": "{name} 已拉取到 {end}",
    " (not in the ISR)": "（不在 ISR 中）",
    " (was {before})": "（原为 {before}）",
    ", was {before}": "，原为 {before}",
    "leader appends {offset}": "leader 追加 {offset}",
    "leader appends {first}–{last}": "leader 追加 {first}–{last}",
    "{follower} fetches from {offset}": "{follower} 从 {offset} 开始拉取",
    "{follower} leaves the ISR": "{follower} 离开 ISR",
    "{follower} joins the ISR": "{follower} 加入 ISR",
    "fetched {end}": "已拉取到 {end}",
    "no fetch yet: the leader knows nothing of it": "还没有拉取：leader 对它一无所知",
    "no fetch of {names} yet: the HW waits": "{names} 还没有拉取：HW 在等待",
    "the least end in the ISR is {least} now, but the HW never falls": (
        "现在 ISR 中最小的末端是 {least}，但是 HW 从不下降"
    ),
    "HW = the least end of the in-sync replicas; 1 offset waits for it": "HW = 同步副本中最小的末端；1 个 offset 在等它",
    "HW = the least end of the in-sync replicas; {count} offsets wait for it": (
        "HW = 同步副本中最小的末端；{count} 个 offset 在等它"
    ),
    "high watermark": "高水位",
    "Exercise 1, the least end of the in-sync replicas": "练习 1，同步副本中最小的末端",
    "two followers": "两个 follower",
    "a slow follower leaves the ISR and comes back": "一个慢的 follower 离开 ISR，又回来",
    "a third follower fetches last": "第三个 follower 最后才拉取",
    "First make one row for each t, with the least end. Then use a window over t.": (
        "先为每个 t 得出一行：最小的末端。再在 t 上开一个窗口。"
    ),
    "While any in-sync follower has not fetched (a null end), the leader raises nothing: count(end) < count(*).": (
        "只要还有一个同步的 follower 没有拉取过（end 为 null），leader 就不推进高水位：count(end) < count(*)。"
    ),
    "The mark never falls: `max(…) OVER (ORDER BY t)`.": "高水位从不下降：`max(…) OVER (ORDER BY t)`。",
    "HW is not the highest LEO: records that only one replica has can be lost with it. HW is the least end in the "
    "ISR.": ("HW 不是最大的 LEO：只有一个副本拥有的消息，会随它一起丢失。HW 是 ISR 中最小的末端。"),
    "You count a majority, as Raft does. Kafka waits for every replica in the ISR, and shrinks the ISR.": (
        "你数的是多数派，那是 Raft 的做法。Kafka 等待 ISR 中的每一个副本，等不到就收缩 ISR。"
    ),
    "Your mark falls when a slow follower joins the ISR. maybe_increment_high_watermark only lets it grow.": (
        "慢的 follower 加入 ISR 时，你的高水位下降了。maybe_increment_high_watermark 只让它上升。"
    ),
    "min skips nulls, so you leave out followers that have not fetched yet; but the leader waits for them. And your "
    "mark can fall.": (
        "min 会跳过 null：你漏掉了还没有拉取过的 follower，而 leader 正在等它们。另外，你的高水位可能下降。"
    ),
    "You leave out followers that have not fetched yet. The leader waits for each one in the ISR.": (
        "你漏掉了还没有拉取过的 follower。leader 要等待 ISR 中的每一个。"
    ),
    "Exercise 2, update_high_watermark": "练习 2，update_high_watermark",
    "HW {old}, suggested {suggested}, log start {log_start}, LEO {leo}": (
        "HW {old}，建议值 {suggested}，日志起始 {log_start}，LEO {leo}"
    ),
    "Two bounds: nothing below the log start, nothing above the log end offset.": (
        "两个界限：不低于日志起始位移，不高于日志末端位移。"
    ),
    "Both bounds are allowed values. The old mark does not matter: this method may move it back.": (
        "两个界限本身都是合法值。原来的高水位不起作用：这个方法可以让它后退。"
    ),
    "You never let the mark fall. That is maybe_increment_high_watermark; update_high_watermark may move it back.": (
        "你从不让高水位下降。那是 maybe_increment_high_watermark；update_high_watermark 可以让它后退。"
    ),
    "You stop at the last record. The mark is an exclusive bound: it may be equal to LEO, the offset of the next "
    "record.": ("你停在了最后一条消息上。高水位是开区间的上界：它可以停在 LEO，那里还没有消息。"),
    "You let the mark go above LEO. Records that are not written are not replicated: the mark is lowered to LEO.": (
        "你让高水位超过了 LEO。没有写入的，就谈不上已经复制：高水位会降到 LEO。"
    ),
    "You let the mark go below the log start. It is raised to the log start.": (
        "你让高水位低于日志起始位移。它会升到日志起始位移。"
    ),
    "You keep the old mark if the suggested one is outside the log. The mark is moved to the nearest bound.": (
        "建议值在日志之外时，你保留了原来的高水位。其实它会移到最近的界限上。"
    ),
    "Exercise 3, maybe_increment_high_watermark": "练习 3，maybe_increment_high_watermark",
    "HW {old}, new {new}, LEO {leo}": "HW {old}，新值 {new}，LEO {leo}",
    "There are three outcomes. Which one does the method check first, before it looks at the old mark?": (
        "有三种结局。哪一种最先判断，甚至不用看原来的高水位？"
    ),
    "A mark above LEO is refused with an exception, not lowered. A mark at LEO is allowed.": (
        "超过 LEO 会以异常拒绝，而不是修正到界限上。等于 LEO 没有问题。"
    ),
    "You count the same mark as a move. The mark does not change, so it stays.": (
        "新值与原来相同，你也算作移动。它还在原处，所以是不动。"
    ),
    "You let a mark above LEO pass, or lower it to LEO. The leader's method refuses with IllegalArgumentException: such a"
    " mark is a bug.": (
        "你放过了超过 LEO 的值，或者把它降到了 LEO。leader 的方法会抛出 IllegalArgumentException：这样的值是程序错误。"
    ),
    "If the new mark is above LEO, you leave the old one. That would hide a bug: the new mark is refused with an "
    "exception.": ("新值超过 LEO 时，你让高水位留在原处。不声不响会掩盖程序错误：应当抛出异常拒绝它。"),
    "You refuse a lower mark. It is no error (a slow follower joins the ISR, say): the mark stays.": (
        "你拒绝了更低的值。这不是错误（例如慢的 follower 加入了 ISR）：高水位不动。"
    ),
    "You let the mark fall. maybe_increment_high_watermark only lets it grow.": (
        "你让高水位下降了。maybe_increment_high_watermark 只让它上升。"
    ),
    "You refuse a mark at LEO. The bound is exclusive: at LEO everything is committed.": (
        "你拒绝了等于 LEO 的值。这个界限是开区间的：等于 LEO 表示全部已提交。"
    ),
    "Exercise 4, when acks=all is answered": "练习 4，acks=all 何时得到应答",
    "a slow follower": "一个慢的 follower",
    "the last append is never answered": "最后一次追加永远得不到应答",
    "Join each append with the marks at or after it, and keep the first mark that is high enough.": (
        "把每次追加与同时或之后的高水位连接（JOIN），保留第一个足够高的。"
    ),
    "An append with the last offset x is answered when HW >= x + 1, in other words HW > x.": (
        "最后一个 offset 为 x 的追加，在 HW >= x + 1 时得到应答，也就是 HW > x。"
    ),
    "A LEFT JOIN keeps appends that are never answered, with null.": (
        "LEFT JOIN 会保留永远得不到应答的追加，值为 null。"
    ),
    "You answer when HW reaches the last offset. HW is exclusive: offset x is committed when HW is x + 1.": (
        "你在 HW 到达最后一个 offset 时就应答了。HW 是开区间的上界：HW 为 x + 1 时，offset x 才算已提交。"
    ),
    "You leave out the appends that are never answered. Their producers are waiting: keep them, with null.": (
        "你漏掉了永远得不到应答的追加。它们的生产者还在等：请保留它们，值为 null。"
    ),
    "You answer as soon as the leader has the records. That is acks=1.": ("leader 一有消息，你就应答了。那是 acks=1。"),
    "Rung 1, setting the high watermark": "第 1 级，设置高水位",
    "A starting broker, a follower and a truncation use this method. It may move the mark up or down.": (
        "broker 启动、follower 和截断，都用这个方法设置高水位，可升可降。"
    ),
    "It takes an offset (int) or a `LogOffsetMetadata`, and returns the offset that was set.": (
        "它接受一个 offset（int）或一个 `LogOffsetMetadata`，返回实际设置的 offset。"
    ),
    "Afterwards log start ≤ high watermark ≤ log end, whatever the argument was.": (
        "无论要求设置什么值，都有：日志起始位移 ≤ 高水位 ≤ 日志末端位移。"
    ),
    "It may fall.": "高水位可以下降。",
    "At the log end it keeps `self.log_end_offset_metadata`, which has the byte position. Otherwise it keeps the "
    "argument.": ("在日志末端，它的位置是已知的（`self.log_end_offset_metadata`）；在别处，传入什么就保留什么。"),
    "`self._update_high_watermark_metadata(metadata)` sets the mark, and then also updates the LSO and calls the "
    "listeners.": ("`self._update_high_watermark_metadata(metadata)` 设置它：生产者状态、监听器和 LSO 由此随之更新。"),
    "You let the mark fall below the log start. Deleted offsets cannot be the bound of what is replicated.": (
        "你让高水位低于日志起始位移。已经删除的消息，不可能是复制到的位置。"
    ),
    "You let the mark pass the log end. A replica has nothing above its log end.": (
        "你让高水位越过了日志末端。一个副本拥有的消息，不可能多于它的日志。"
    ),
    "You never let the mark fall. That is the rule of maybe_increment_high_watermark, which a leader uses. This "
    "method just sets it.": (
        "你从不让它下降。那是 leader 的规则，在 maybe_increment_high_watermark 里；这个方法只管设置。"
    ),
    "You only store the mark. The LSO stays where it was, and readers of committed records wait. Set it with "
    "`self._update_high_watermark_metadata(…)`.": (
        "你设置了高水位，却没有人知道：LSO 停在原处，只读已提交记录的读者一直在等。请用 `self._update_high_watermark_metadata(…)` 来设置。"
    ),
    "You do not keep the byte position of the log end. A later read looks it up by the offset. If the log has got a "
    "hole at this offset by then, the read finds the batch after the hole, and the mark moves to it.": (
        "你忘了日志末端的位置。以后读取时要按 offset 去查它；如果那时那里已经是一个空洞，查到的就是空洞后面的批次，高水位也跟着移了过去。"
    ),
    "You return the argument. Return the offset that was set.": ("你返回了要求设置的值。应当返回实际设置的 offset。"),
    "Turn an int into `LogOffsetMetadata(number)`, an offset without a byte position.": (
        "单独一个数要变成 `LogOffsetMetadata(number)`，即位置不明的 offset。"
    ),
    "If it is below `self.log_start_offset`, use that offset. If it is at or above the log end, use "
    "`self.log_end_offset_metadata`.": (
        "低于 `self.log_start_offset` 时取 `self.log_start_offset`；不低于日志末端时取 `self.log_end_offset_metadata`。"
    ),
    "Set it with `self._update_high_watermark_metadata(…)` and return its `message_offset`.": (
        "用 `self._update_high_watermark_metadata(…)` 设置它，返回它的 `message_offset`。"
    ),
    "Rung 2, what a follower learns": "第 2 级，follower 得知了什么",
    "A leader sends its high watermark with each answer to a fetch. The follower may have fewer records, so its own "
    "log limits the value.": ("leader 在每次拉取的应答中告知它的高水位；follower 自己的日志为它设限。"),
    "It sets the mark to the nearest offset from log start to log end, both inclusive.": (
        "它把高水位设为 [日志起始位移, 日志末端位移] 中最接近的 offset。"
    ),
    "It returns the new mark, or None when the mark did not change.": ("它返回新的高水位；高水位没有变化时返回 None。"),
    "You return the mark even if it did not change.": "高水位没有变化时，你也返回了它。",
    "You compare and return the leader's value. Use the value that was set within the follower's own log.": (
        "你比较并返回的是 leader 说的值。要看的是 follower 自己的日志允许的值。"
    ),
    "Your follower's mark never falls. A follower takes its leader's value, lower or higher.": (
        "你的 follower 的高水位从不下降。follower 接受 leader 说的值，不论更低还是更高。"
    ),
    "The method of rung 1 applies the bounds: call `self.update_high_watermark(high_watermark)`.": (
        "界限由第 1 级的方法处理：调用 `self.update_high_watermark(high_watermark)`。"
    ),
    "Remember the mark before, and compare it with what that method returns.": (
        "先记下之前的高水位，再与那个方法的返回值比较。"
    ),
    "Rung 3, the leader's mark only rises": "第 3 级，leader 的高水位只升不降",
    "A record that a consumer has read must stay visible. So a leader never lowers the mark, whatever a follower "
    "fetches.": ("消费者看到过的，必须一直看得到：无论 follower 请求什么，leader 都不会收回。"),
    "It never lowers the mark.": "它从不降低高水位。",
    "It returns the old mark with its byte position (`self._fetch_high_watermark_metadata()`), or None if the mark "
    "did not move.": ("它返回原来的高水位，连同位置（`self._fetch_high_watermark_metadata()`）；没有移动时返回 None。"),
    "The same offset on a newer segment counts as higher: after a roll the mark moves to the new segment.": (
        "offset 相同而日志段更新，也算向前：切分之后，高水位移到新的日志段。"
    ),
    "Above the log end it raises `IllegalArgumentException`, and the mark stays.": (
        "超过日志末端时，它抛出 `IllegalArgumentException`，高水位不动。"
    ),
    "You set the mark even if the new one is lower. A leader's mark only rises.": (
        "你不管原来是多少，都设置了高水位。leader 的高水位只升不降。"
    ),
    "You set and report a mark that is the same as before.": ("新值与原来相同，你也设置了高水位，并且报告了变化。"),
    "You ignore a mark above the log end. Kafka refuses it with IllegalArgumentException.": (
        "你对超过日志末端的值不声不响。Kafka 会抛出 IllegalArgumentException 拒绝它。"
    ),
    "You refuse a mark at the log end. When every replica has all records, the mark is at the log end.": (
        "你拒绝了等于日志末端的值。每个副本都有全部消息时，高水位就应当在那里。"
    ),
    "You return the new mark. The caller needs the old one.": ("你返回了新的高水位。调用者想知道的是原来的。"),
    "First the refusal: `raise IllegalArgumentException(…)` above `self.log_end_offset`.": (
        "先写拒绝：超过 `self.log_end_offset` 时 `raise IllegalArgumentException(…)`。"
    ),
    "`old = self._fetch_high_watermark_metadata()` has the old mark with its byte position.": (
        "`old = self._fetch_high_watermark_metadata()` 是原来的高水位，连同它的位置。"
    ),
    "The new mark is ahead if its `message_offset` is higher, or if it is the same and "
    "`old.on_older_segment(new_high_watermark)`.": (
        "“向前”是指：`message_offset` 更大；或者相同，并且 `old.on_older_segment(new_high_watermark)`。"
    ),
}
