"""Chinese: what the lab says in every lesson, by the English text. `teaching/terms.md` has the terms.

A space stands between Chinese and Latin letters or digits, none beside full-width punctuation.
"""

CATALOGUE = {
    # pages and players
    ", ": "，",
    "; ": "；",
    ". ": "。",
    ": ": "：",
    " and ": "、",
    " or ": " 或 ",
    "none": "无",
    "frame {number} of {count}": "第 {number} 帧，共 {count} 帧",
    "all {count} frames as text": "全部 {count} 帧的文字",
    "◀ back": "◀ 后退",
    "one frame back": "后退一帧",
    "next ▶": "前进 ▶",
    "one frame on": "前进一帧",
    # errata
    "Erratum": "勘误",
    ", for those who know an older text: ": "，写给读过旧资料的人：",
    "older text": "旧资料",
    "the source": "源码",
    "the run": "运行结果",
    # predictions
    "Predict.": "预测：",
    "Not answered yet: replace ___ by your prediction and run this cell again.": (
        "还没有作答：把 ___ 换成你的预测，再运行这个单元格。"
    ),
    "This question could not be asked ({error}), so your answer is not wrong. Run the cells above it again, from the top; "
    "the first that fails says why.": (
        "这个问题没能提出（{error}），所以你的回答不算错。请从头重新运行它上面的单元格；第一个失败的单元格会说明原因。"
    ),
    "You said {said}, and so it is.": "你的预测是 {said}，正是如此。",
    "You said {said}; the run gives {given}.": "你的预测是 {said}，运行结果是 {given}。",
    # offset ruler
    "Offsets of the log": "日志的各个 offset",
    "LEO": "LEO",
    "HW": "HW",
    "LSO": "LSO",
    "log start": "日志起始",
    "log start {log_start} ≤ LSO {lso} ≤ HW {hw} ≤ LEO {leo}; segments {segments}": (
        "日志起始 {log_start} ≤ LSO {lso} ≤ HW {hw} ≤ LEO {leo}；日志段 {segments}"
    ),
    "log start {log_start} > LSO {lso} ≤ HW {hw} ≤ LEO {leo}; segments {segments}": (
        "日志起始 {log_start} > LSO {lso} ≤ HW {hw} ≤ LEO {leo}；日志段 {segments}"
    ),
    " ({words})": "（{words}）",
    "segment {base} added": "新增日志段 {base}",
    "segment {base} removed": "移除日志段 {base}",
    "segment {base}: {old:,} → {new:,} B": "日志段 {base}：{old:,} → {new:,} B",
    "nothing moved": "没有移动",
    "as it was found": "初始状态",
    "segments": "日志段",
    "active": "活跃",
    "active, empty": "活跃，空",
    "below HW: committed": "HW 以下：已提交",
    "from HW on: not yet": "HW 及以上：尚未提交",
    "below log start: not readable": "日志起始以下：不可读",
    # leader and followers
    "in the ISR": "在 ISR 中",
    "not in the ISR": "不在 ISR 中",
    # stepper
    "{method} step by step": "逐步执行 {method}",
    "{method}, after step {number}": "{method}，第 {number} 步之后",
    "step {number}": "第 {number} 步",
    "returned": "已返回",
    "returned {value}": "返回 {value}",
    "raised": "抛出异常",
    "raised {error}: {message}": "抛出 {error}：{message}",
    "no local variable changed": "没有局部变量改变",
    "… {count} more lines in this step": "…… 这一步还有 {count} 行",
    "A bare number is an offset whose place is not known yet.": "单独一个数是位置尚不清楚的 offset。",
    "It is never below the log start.": "它不会低于日志起始位移。",
    "At or above the log end it is the log end, whose place is known.": "达到或超过日志末端时，取日志末端，它的位置是已知的。",
    "Set it.": "设置高水位。",
    "Is the log closed?": "日志已经关闭了吗？",
    "Is the place known?": "位置已经知道了吗？",
    "No: look it up, and keep it.": "不知道：查出来，并记住。",
    "No offset is negative.": "offset 不能是负数。",
    "Readers see it from here on.": "从这里起，读取者就能看到它。",
    "Transactions whose markers are replicated now need not be remembered.": (
        "事务标记如果已经复制完毕，就不必再记住相应的事务。"
    ),
    "Tell the listener.": "通知监听器。",
    "The last stable offset may move with it.": "最后稳定位移可能随之移动。",
    "A leader cannot have replicated what it does not have.": "leader 没有的消息，不可能已经复制完毕。",
    "Nobody else changes it meanwhile.": "在此期间，别人不会改动它。",
    "The old high watermark, with its place.": "原来的高水位，连同它的位置。",
    "It moves only forward: to a higher offset, or to the same offset on a newer segment, as after a roll.": (
        "它只向前移动：移到更大的 offset；或者移到更新的日志段上的同一个 offset，例如切分之后。"
    ),
    # witnesses
    "{operations} operations, {cells} values compared": "{operations} 个操作，比较了 {cells} 个值",
    "quantity": "项目",
    "values": "值的个数",
    "{cells:4} values": "{cells:4} 个值",
    "agree?": "是否一致",
    "agree": "一致",
    "differ": "不一致",
    "DIFFER": "不一致",
    "No difference.": "没有差异。",
    "First difference": "第一处差异：",
    "First difference: {difference}": "第一处差异：{difference}",
    "after operation {operation} ({text}), {quantity}: {said}": "操作 {operation}（{text}）之后，{quantity}：{said}",
    "{witness} says {value}": "{witness} 说 {value}",
    "nothing": "什么也没有",
    "result": "返回值",
    "error": "异常",
    "log start offset": "日志起始位移",
    "recovery point": "恢复点",
    "last stable offset": "最后稳定位移",
    "log end offset": "日志末端位移",
    "index entries": "索引项",
    "epochs": "epoch",
    "producers": "生产者",
    # checks
    "{exercise}: {state}. {words}": "{exercise}：{state}。{words}",
    "not attempted": "未作答",
    "not judged here": "此处不裁判",
    "Workload {number} of {count} …": "第 {number} 个工作负载，共 {count} 个……",
    "There is a difference. Now a shorter workload that shows it is looked for …": "有一处不同。正在寻找更短的、能显示它的工作负载……",
    "All is equal so far. Now what your function returned is compared, call by call …": "到此都相同。正在逐次比较你的函数的返回值……",
    (
        "Apache Kafka is not at hand here, so minikafka's own `{method}` is the judge. Tests hold it equal to Kafka's on "
        "these workloads."
    ): "这里没有 Apache Kafka，所以由 minikafka 自己的 `{method}` 裁判。测试保证它在这些工作负载上与 Kafka 的相同。",
    "Apache Kafka is not at hand here, so minikafka's own `{method}` is the judge.": (
        "这里没有 Apache Kafka，所以由 minikafka 自己的 `{method}` 裁判。"
    ),
    (
        "Your function asks Spark, which cannot be started here, so nothing was judged. Here you can take the rows of a "
        "table with `.collect()` and return a list of tuples. Your query itself is judged in JupyterLab (`minikafka lab`)."
    ): (
        "你的函数要用 Spark，而这里无法启动它，所以没有裁判。在这里可以用 `.collect()` 取出表的各行，返回一个元组列表。查询本身在 JupyterLab"
        "（`minikafka lab`）中裁判。"
    ),
    (
        "Spark {version} is not at hand here. Its answers to the cases of this exercise are from the day on which the "
        "lesson was built."
    ): "这里没有 Spark {version}。它对本练习各个情形的回答，是构建本课时记录下来的。",
    "not yet": "还不对",
    "correct": "正确",
    "Replace ___ in the function above, then run this cell again.": "替换上面函数中的 ___，再运行这个单元格。",
    "Your function returns nothing so far.": "你的函数目前什么也不返回。",
    "{case}: {difference}. ({judge} is the judge.)": "{case}：{difference}。（由 {judge} 裁判。）",
    "{case}: your function raised {error}": "{case}：你的函数抛出了 {error}",
    "KeyError: your query names {{{name}}}, and sql(…) was not given {name}=…": (
        "KeyError：你的查询用到了 {{{name}}}，但是没有给 sql(…) 传入 {name}=…"
    ),
    "Equal to {judge}'s answers in {cases}.": "与 {judge} 的答案相同，共 {cases}。",
    "1 case": "1 种情形",
    "{count} cases": "{count} 种情形",
    "you answer {got}, expected {expected}": "你的答案是 {got}，应为 {expected}",
    "entry {place} is {mine}, expected {theirs}": "第 {place} 项（从 0 数起）是 {mine}，应为 {theirs}",
    "the right entries in another order: ": "各项都对，但顺序不同：",
    "1 entry": "有 1 项",
    "{count} entries": "有 {count} 项",
    "{entries}, expected {expected}; entry {place}, {entry}, is {more}": (
        "{entries}，应有 {expected} 项；第 {place} 项（从 0 数起）{entry} {more}"
    ),
    "missing": "缺失",
    "one too many": "多余",
    "Hint {number} of {count}: {hint}": "提示 {number}（共 {count} 条）：{hint}",
    # rungs
    "<b>{rung}</b>, for Kafka's <code>{kafka}</code>, in minikafka <code>{ours}</code>. {judge} is the judge.": (
        "<b>{rung}</b>：对应 Kafka 的 <code>{kafka}</code>，在 minikafka 中是 <code>{ours}</code>。由 {judge} 裁判。"
    ),
    "{rung} stands for {kafka} ({ours} in minikafka).": ("{rung}：对应 Kafka 的 {kafka}（在 minikafka 中是 {ours}）。"),
    "minikafka's own method": "minikafka 自己的方法",
    "your function": "你的函数",
    "the log at that moment": "那一刻的日志",
    "Check a version of your own first, however wrong it may be; then this opens.": (
        "先检查一个你自己写的版本，错了也没关系；之后这里才会打开。"
    ),
    "{count} operations, and every byte on disk, as {judge} has them.": (
        "{count} 个操作以及磁盘上的每一个字节，都与 {judge} 相同。"
    ),
    "{count} operations, as {judge} does them.": "{count} 个操作，与 {judge} 的做法相同。",
    "Shortest workload found: {workload}.": "找到的最短工作负载：{workload}。",
    "First difference {difference}.": "第一处差异：{difference}。",
    "First differing byte: {file}.": "第一个不同的字节：{file}。",
    "{file} at byte {position}: {meaning}": "{file} 的字节 {position}：{meaning}",
    "Line {number}: {line}": "第 {number} 行：{line}",
    "Called with {arguments}": "调用参数：{arguments}",
    "While the engine did: {operation}": "引擎当时正在执行：{operation}",
    "The log before it: {log}": "在那之前的日志：{log}",
    "Your function raised {error}: {message}": "你的函数抛出了 {error}: {message}",
    "Your function returned {result}, of the type {type}; the method returns {wanted}.": (
        "你的函数返回了 {result}，类型是 {type}；这个方法应返回 {wanted}。"
    ),
    "With your function in place a new, empty log does not open: {error}: {message}": (
        "换上你的函数之后，一个新的空日志打不开：{error}: {message}"
    ),
    "It has not ended after {seconds:g} seconds.": "{seconds:g} 秒之后它还没有结束。",
    "Its process answers what no log answers.": "它的进程给出了任何日志都不会给出的回答。",
    "In the directory of your log {what}.": "在你的日志的目录里：{what}。",
    "Your function has not ended after {seconds:g} seconds. Is there a loop whose end never comes?": (
        "你的函数 {seconds:g} 秒之后还没有结束。是不是有一个不会结束的循环？"
    ),
    "Your function changed what it was given; the method that it stands for only looks.": (
        "你的函数改动了传给它的对象；它所代替的方法只看不改。"
    ),
    "{method} takes ({wanted}); yours takes ({given})": "{method} 的参数是 ({wanted})，你的函数的参数是 ({given})",
    # pages of the site
    "On this page": "本页内容",
    "To the text": "跳到正文",
    "This cell waits for Spark and Apache Kafka, which are starting: about 10 seconds.": (
        "这个单元格在等待 Spark 和 Apache Kafka 启动：大约 10 秒。"
    ),
    "This cell waits for Spark and Apache Kafka, which start on this machine for the first time: a minute or longer.": (
        "这个单元格在等待 Spark 和 Apache Kafka 启动，这是它们在这台机器上第一次启动：需要一分钟或更久。"
    ),
    "Search": "搜索",
    "Open it live": "在浏览器中运行",
    "Search (press /)": "搜索（按 /）",
    "Search results": "搜索结果",
    "Dark or light": "深色或浅色",
    "Lessons": "课程",
    "Documentation": "文档（英文）",
    "Glossary": "术语表",
    "The site": "本站",
    "Pages": "页面",
    "Before:": "上一页：",
    "Next:": "下一页：",
    "In the notebook the line above runs your function and says where it differs first.": (
        "在 notebook 里，上面那一行会运行你的函数，并指出第一处差异。"
    ),
    "Frame of {title}": "帧：{title}",
    "{number} of {count}: {words}": "第 {number} 帧，共 {count} 帧：{words}",
    "this frame as text": "这一帧的文字",
    "What the run shows: it opens when you have answered": "运行的结果：您回答后展开",
    "✓ You said {said}, and so it is.": "✓ 你的预测是 {said}，正是如此。",
    "✗ You said {said}; the run gives {given}. {belief}": "✗ 你的预测是 {said}，运行结果是 {given}。{belief}",
    "Answer": "作答",
    "Can be scrolled sideways": "可以左右滚动",
    "{count} sections": "{count} 节",
    "{count} sections, the first {most}:": "{count} 节，前 {most} 节：",
}
