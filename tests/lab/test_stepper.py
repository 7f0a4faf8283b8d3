import contextlib
import re
import sys
from dataclasses import dataclass
from html import unescape
from types import SimpleNamespace

import pytest

from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.lab.stepper.coloured_source import coloured_lines
from minikafka.lab.stepper.stepper import StepFrame, in_words, render_step, step_through
from minikafka.lab.stepper.steps import method_of
from minikafka.log.cleaner.log_cleaner_manager import LogCleanerManager


class Walked:
    """A stand-in for a log: four offsets, one segment."""

    def __init__(self):
        self.log_start_offset = 0
        self.last_stable_offset = 0
        self.high_watermark = 0
        self.log_end_offset = 0
        self.log_segments = [SimpleNamespace(base_offset=0, size=0)]

    def append(self, sizes):
        """Add sizes.

        Kafka: UnifiedLog.append
        """
        # 1. check the sizes
        self.check(sizes)
        # 2. add each of them
        for size in sizes:
            # 3. refuse what is too large,
            #    and say how large it was
            if size > 100:
                raise ValueError(f"too large: {size}")
            # 4. move the end
            self.log_end_offset += 1
            self.log_segments[0].size += size
        # 5. answer
        return len(sizes)

    def check(self, sizes):
        """Kafka: UnifiedLog.analyzeAndValidateRecords"""
        # 1. at least one
        if not sizes:
            raise ValueError("nothing to append")
        total = sum(sizes)
        # 2. count the rest
        return total

    def tolerant(self, sizes):
        try:
            # 1. try it
            self.check(sizes)
        except ValueError as problem:
            # 2. forgive it
            reason = str(problem)
            return reason
        # 3. done
        return "fine"

    def guarded(self, lock):
        # 1. hold the lock
        with lock:
            # 2. change under the lock
            self.high_watermark = 1
            self.log_start_offset = 0
        # 3. after it
        self.last_stable_offset = 1

    def refusing(self, lock):
        # 1. hold the lock
        with lock:
            # 2. refuse under it
            raise ValueError("refused")

    def unmarked(self, number):
        doubled = number * 2
        if doubled > 4:
            return doubled
        return number


@dataclass
class Info:
    first_offset: int
    last_offset: int


def path(walk):
    return [(frame.method.name.split(".")[-1], frame.step.number, frame.depth) for frame in walk.frames]


def into(*names):
    return {f"Walked.{name}" for name in names}


def test_marks_are_found_with_their_text_and_lines():
    method = method_of(Walked.append.__code__)
    assert [(s.number, s.text) for s in method.steps] == [
        ("1", "check the sizes"), ("2", "add each of them"), ("5", "answer"),
        ("3", "refuse what is too large, and say how large it was"), ("4", "move the end"),
    ]  # fmt: skip
    by_number = {s.number: method.lines(s) for s in method.steps}
    assert by_number["4"] == ("self.log_end_offset += 1", "self.log_segments[0].size += size")
    assert by_number["2"][0] == "for size in sizes:" and len(by_number["2"]) == 8


def test_a_list_that_is_made_of_others_begins_where_the_others_are():
    method = method_of(LogCleanerManager.grab_filthiest_compacted_log.__code__)
    (kept,) = (step for step in method.steps if step.number == "5")
    assert method.source[kept.first_line - method.first_line].strip() == "cleanable_logs = ["
    assert method.source[kept.first_run - method.first_line].strip() == "for dirty in dirty_logs"
    assert all(step.first_run == step.first_line for step in method.steps if step is not kept)


def test_the_marked_lines_are_those_of_the_step_alone():
    method = method_of(Walked.append.__code__)
    marks = {
        step.number: [
            line.strip()
            for number, line in enumerate(method.source, method.first_line)
            if method.belongs_to(number) == step and not line.strip().startswith("#")
        ]
        for step in method.steps
    }
    assert marks["2"] == ["for size in sizes:"]
    assert marks["3"] == ["if size > 100:", 'raise ValueError(f"too large: {size}")']
    html = render_step(StepFrame(method, method.steps[1], 0), [StepFrame(method, method.steps[1], 0)], 0)
    assert html.count('class="mk-now"') == 1


def test_of_an_object_that_was_there_only_the_fields_that_changed_are_told():
    def run():
        info = Info(-1, 9)
        info.first_offset = 20
        info = Info(20, 29)
        return info

    first, second, third, _ = step_through(run).frames
    assert first.changed == {"info": "Info(first_offset=-1, last_offset=9)"}
    assert second.changed == {"info.first_offset": "20"}
    assert third.changed == {"info": "Info(first_offset=20, last_offset=29)"}


def test_coloured_source_keeps_every_character():
    source = ("def f(a):", '    """Two', '    lines <&>."""', "    # 1. why", '    return f"{a}" if a > 0x1F else None')
    lines = coloured_lines(source)
    assert [unescape(re.sub("<[^>]+>", "", line)) for line in lines] == list(source)
    assert lines[2].startswith('    <span class="mk-string">lines &lt;&amp;&gt;')
    assert (
        '<span class="mk-keyword">return</span>' in lines[4] and '<span class="mk-comment"># 1. why</span>' in lines[3]
    )


def test_a_frame_for_each_entry_of_a_loop_and_of_a_nested_call():
    walked = Walked()
    walk = step_through(walked.append, [7, 8], watch=walked, into=into("append", "check"))
    assert path(walk) == [
        ("append", "1", 0), ("check", "1", 1), ("check", "2", 1), ("append", "2", 0),
        ("append", "3", 0), ("append", "4", 0), ("append", "3", 0), ("append", "4", 0), ("append", "5", 0),
    ]  # fmt: skip
    assert walk.result == 2 and walk.raised is None
    assert walk.frames[-1].outcome == "returned 2" and walk.frames[2].outcome == "returned 15"
    moved = [frame.after.leo - frame.before.leo for frame in walk.frames if frame.step.number == "4"]
    assert moved == [1, 1]
    assert walk.frames[1].changed == {"total": "15"}


def test_a_raised_exception_is_not_a_return_of_none():
    walked = Walked()
    walk = step_through(walked.append, [7, 101], into=into("append"))
    assert path(walk)[-1] == ("append", "3", 0)
    assert walk.frames[-1].raised and not walk.frames[-1].returned
    assert walk.frames[-1].outcome == "raised ValueError: too large: 101"
    assert isinstance(walk.raised, ValueError)


def test_an_exception_that_is_handled_leaves_its_method_raised_and_the_caller_returned():
    walk = step_through(Walked().tolerant, [], into=into("tolerant", "check"))
    assert path(walk) == [("tolerant", "1", 0), ("check", "1", 1), ("tolerant", "2", 0)]
    assert walk.frames[1].raised and walk.frames[2].outcome == "returned 'nothing to append'"
    assert walk.raised is None


def test_leaving_a_with_block_does_not_enter_its_step_again():
    walk = step_through(Walked().guarded, contextlib.nullcontext(), into=into("guarded"))
    assert path(walk) == [("guarded", "1", 0), ("guarded", "2", 0), ("guarded", "3", 0)]
    assert walk.frames[-1].outcome == "returned"


def test_an_exception_that_leaves_through_a_with_block_keeps_its_name():
    walk = step_through(Walked().refusing, contextlib.nullcontext(), into=into("refusing"))
    assert walk.frames[-1].raised and walk.frames[-1].outcome == "raised ValueError: refused"


def test_a_method_without_marks_is_walked_by_statements():
    walk = step_through(Walked().unmarked, 3)
    assert [frame.step.text for frame in walk.frames] == ["doubled = number * 2", "if doubled > 4:", "return doubled"]
    assert walk.frames[-1].outcome == "returned 6"


def test_tracing_ends_with_the_run():
    before = sys.gettrace()
    step_through(Walked().append, [1], into=into("append"))
    assert sys.gettrace() is before


def test_each_frame_reads_well_and_links_to_kafka():
    walked = Walked()
    walk = step_through(walked.append, [7], watch=walked, into=into("append"))
    assert str(walk.frames[0]) == "Walked.append 1. check the sizes"
    assert "LEO 0 → 1" in str(walk.frames[3])
    html = render_step(walk.frames[3], walk.frames, 3)
    assert (
        f"blob/{KAFKA_VERSION}/storage/src/main/java/org/apache/kafka/storage/internals/log/UnifiedLog.java#L1115"
        in html
    )
    assert "self.log_end_offset += 1" in re.sub("<[^>]+>", "", html) and "<svg" in html


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "None"), (b"abc", "3 bytes"), ([1, 2], "[1, 2]"), ("x" * 99, "'" + "x" * 58 + "…"), (object(), "object")],
)
def test_values_are_told_in_words_that_never_change(value, words):
    assert in_words(value) == words


class Unmarked:
    def run(self, lock, numbers):
        with lock:
            total = 0
            for number in numbers:
                total += number
        return total


def test_walked_by_statements_a_with_or_a_loop_is_entered_once():
    walk = step_through(Unmarked().run, contextlib.nullcontext(), [1, 2])
    texts = [frame.step.text for frame in walk.frames]
    assert texts == [
        "with lock:", "total = 0", "for number in numbers:", "total += number", "total += number", "return total",
    ]  # fmt: skip
    assert walk.frames[-1].outcome == "returned 3"
