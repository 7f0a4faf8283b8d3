"""The ladder of the exam: what each question proves of a learner's log, and what it does not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import indent

from minikafka.lab.rebuild.exam.comparison import Difference, first_difference
from minikafka.lab.rebuild.exam.judged_story import JudgedStory, judged
from minikafka.lab.rebuild.exam.learners_log import LearnersLog
from minikafka.lab.rebuild.exam.stories import Story, drawn_story, told_story
from minikafka.lab.rebuild.trial import judge_name

_ONE_SEGMENT = {"internal.segment.bytes": "1048576", "index.interval.bytes": "4096", "segment.index.bytes": "10485760"}
_STORIES, _STEPS = 6, 30


@dataclass(frozen=True)
class Answer:
    """How a question went: the `difference` that was found, None when it passed; `steps` that were compared before."""

    question: "Question"
    difference: Difference | None
    steps: int

    @property
    def passed(self) -> bool:
        """True when nothing told the logs apart."""
        return self.difference is None

    @property
    def words(self) -> str:
        """What tells the logs apart, and in which story; "" for nothing."""
        found = self.difference
        return "" if found is None else f"{found.words}\n({found.story.settings_in_words})"

    def __str__(self) -> str:
        if not self.passed:
            return f"✗ {self.question.name}\n{indent(self.words, '    ')}"
        return (
            f"✓ {self.question.name}: {self.steps} steps, as {judge_name()} does them\n"
            f"    proves: {self.question.proves}\n    does not prove: {self.question.leaves_open}"
        )


@dataclass(frozen=True)
class Question:
    """One rung of the exam: stories of these kinds of steps, after which files with these suffixes must be equal."""

    name: str
    suffixes: tuple[str, ...]
    kinds: tuple[str, ...]
    settings: tuple[dict[str, str], ...]
    proves: str
    leaves_open: str
    chosen: tuple[str, ...] = ()  # stories that are always told first: their steps, line by line

    def judged(self, seed: int) -> list[JudgedStory]:
        """The stories that `seed` draws, done by the judge's log."""
        return [judged(story, self.suffixes) for story in self._stories(seed)]

    def ask(self, mine: LearnersLog, stories: Sequence[JudgedStory]) -> Answer:
        """Do these stories with a learner's log, up to the first difference."""
        steps = 0
        for story in stories:
            if difference := first_difference(mine, story, self.suffixes):
                return Answer(self, difference, steps)
            steps += len(story.steps)
        return Answer(self, None, steps)

    def _stories(self, seed: int) -> Iterator[Story]:
        for lines in self.chosen:
            yield told_story(lines, {**_ONE_SEGMENT, **self.settings[-1]})
        for number in range(_STORIES):
            config = {**_ONE_SEGMENT, **self.settings[number % len(self.settings)]}
            yield drawn_story(f"{self.name} {seed} {number}", config, _STEPS, self.kinds)


_INTERVALS = tuple({"index.interval.bytes": interval} for interval in ("0", "100", "300", "2000"))
_SEGMENTS = (
    {"internal.segment.bytes": "700", "index.interval.bytes": "100"},
    {"internal.segment.bytes": "1500", "index.interval.bytes": "0", "segment.index.bytes": "36"},
    {"internal.segment.bytes": "2500", "index.interval.bytes": "300", "segment.index.bytes": "60"},
)

# With room in the indexes: after a clean close a segment may hold more batches than a new index of it has room for, and
# then Kafka's own log does not open after a kill.
_RECOVERED = tuple({**settings, "segment.index.bytes": "1200"} for settings in _SEGMENTS)

LADDER = (
    Question(
        "1. the .log of one segment",
        (".log",),
        ("append",),
        ({},),
        "a leader gives offsets and its epoch to a batch, and changes nothing else in it",
        "anything about more than one segment, or about indexes",
    ),
    Question(
        "2. the offset index",
        (".log", ".index"),
        ("append",),
        _INTERVALS,
        "which batches get an entry, with which key and byte, and that the file is cut when the log is closed",
        "that a full index begins a new segment",
        chosen=("append_as_leader [1x930]\n" * 5,),  # of 1,000 bytes: two are not more than the interval
    ),
    Question(
        "3. the time index",
        (".log", ".index", ".timeindex"),
        ("append", "append", "tick"),
        _INTERVALS,
        "which timestamps are indexed, and the last entry that a close adds",
        "that a search in it finds anything",
        chosen=(
            "append_as_leader [2x10]\ntick 700\nappend_as_leader [2x10]\nappend_as_leader [2x10]\n",
            "append_as_leader [2x10]\nappend_as_leader [1x10 ts=now-5]\nappend_as_leader [2x10]\n",
            "append_as_leader [2x10 ts=-1]\nappend_as_leader [2x10 ts=-1]\n",
        ),
    ),
    Question(
        "4. rolling",
        (".log", ".index", ".timeindex"),
        ("append", "append", "append", "roll"),
        _SEGMENTS,
        "when a segment is full, also by its indexes; names of files; what becomes of a segment that is done",
        "rolling by age, and by an offset that is too far above the base",
        chosen=("append_as_leader [1x555]\n" * 6,),  # of 625 bytes: four fill a segment to the last byte
    ),
    Question(
        "5. reads",
        (".log",),
        ("append", "append", "roll", "read", "read", "reopen"),
        _SEGMENTS,
        "a read begins with the batch that holds the offset, gives it whole, and stays in its segment; also after a "
        "clean close",
        "what a high watermark or an open transaction would hide",
        chosen=("append_as_leader [2x10]\n" * 3 + "read leo-3 max_length=0 isolation=log_end\n",),
    ),
    Question(
        "6. recovery",
        (".log", ".index", ".timeindex"),
        ("append", "append", "append", "roll", "damage", "reopen"),
        _RECOVERED,
        "after a kill the log ends before the first batch that is torn or damaged, and its indexes are made again",
        "damage in an older segment, a recovery point, writes that were lost out of order",
        chosen=(
            # What was read again does not count for the interval: the batch behind the recovery gets no entry.
            "append_as_leader [1x200]\n" * 3 + "damage cut=5\nappend_as_leader [1x10]\nappend_as_leader [1x10]\n",
            # A recovery ends with an entry for the largest time, which a later close does not make up for.
            "append_as_leader [1x10]\ntick 700\nappend_as_leader [1x10]\nappend_as_leader [1x10]\n"
            "damage cut=5\ntick 700\nappend_as_leader [1x10]\n",
        ),
    ),
    Question(
        "7. leader epochs",
        (".log", ".index", ".timeindex", "leader-epoch-checkpoint"),
        ("append", "append", "epoch", "roll", "reopen"),
        _SEGMENTS,
        "each leader's first offset is in the checkpoint file",
        "what a truncation does to it",
    ),
    Question(
        "8. producer snapshots",
        (".log", ".snapshot"),
        ("append", "produce", "produce", "produce", "roll", "reopen"),
        _SEGMENTS,
        "what is known of each producer is kept where a segment ends and where the log is closed, and is there when it "
        "is opened again; old snapshots go that belong to no segment",
        "that a retry is recognised, that a gap in the sequences is refused, what a kill does to snapshots",
        chosen=(
            # After the largest sequence number comes 0.
            "append_as_leader [2x10 pid=1 epoch=0 seq=2147483646]\nappend_as_leader [2x10 pid=1 epoch=0 seq=0]\n"
            "append_as_leader [3x10 pid=2 epoch=0 seq=2147483646]\nreopen\n",
            # The newest snapshot at whose offset no segment begins lies before the last segment.
            "append_as_leader [2x10 pid=1 epoch=0 seq=0]\nreopen\nappend_as_leader [2x10 pid=1 epoch=0 seq=2]\n"
            "roll leo\nreopen\n",
            "append_as_leader [2x10 pid=0 epoch=0 seq=0]\n",
            # The largest time of a batch that neither begins nor ends with it; a producer that begins anew.
            "append_as_leader [3x10 ts=now-9,now+5,now-7 pid=1 epoch=0 seq=0]\n"
            "append_as_leader [1x10 pid=1 epoch=2 seq=0]\n",
            "reopen\n",  # of a log that has nothing
        ),
    ),
    Question(
        "9. transactions",
        (".log", ".snapshot", ".txnindex"),
        ("produce", "transact", "transact", "transact", "end", "end", "roll", "reopen"),
        _SEGMENTS,
        "open transactions survive a close, and each aborted one is in the index of the segment that has its marker, "
        "with the last stable offset that it left",
        "what a consumer with read_committed gets, fenced producers, transactions of version 2",
        chosen=(
            "append_as_leader [1x10 pid=4 epoch=0 seq=0 txn]\nappend_as_leader [2x10 pid=5 epoch=0 seq=0 txn]\n"
            "append_as_leader origin=coordinator transaction_version=0 [abort pid=5 epoch=0]\n"
            "append_as_leader origin=coordinator transaction_version=0 [abort pid=4 epoch=0]\n",
            "append_as_leader [1x10]\n"
            "append_as_leader origin=coordinator transaction_version=0 [abort pid=4 epoch=0]\n",
            # A transactional producer that begins anew, and whose newer transaction alone is open.
            "append_as_leader [1x10 pid=4 epoch=0 seq=0 txn]\n"
            "append_as_leader origin=coordinator transaction_version=0 [commit pid=4 epoch=0]\n"
            "append_as_leader [1x10 pid=4 epoch=1 seq=0 txn]\nreopen\n",
            # A transaction of two batches that begins at offset 0.
            "append_as_leader [1x10 pid=4 epoch=0 seq=0 txn]\nappend_as_leader [1x10 pid=4 epoch=0 seq=1 txn]\nreopen\n"
            "append_as_leader origin=coordinator transaction_version=0 [abort pid=4 epoch=0]\n",
        ),
    ),
)
"""From the first to the last; each asks for what the ones before it ask, and more."""
