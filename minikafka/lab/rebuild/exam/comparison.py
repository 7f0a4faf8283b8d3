"""A story done by a learner's log, beside what is known of the judge's: the first thing in which they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from minikafka.lab.rebuild.exam.judged_story import JudgedStep, JudgedStory, judged
from minikafka.lab.rebuild.exam.learners_log import LearnersLog
from minikafka.lab.rebuild.exam.stories import Damage, Story
from minikafka.lab.rebuild.learners_code import LearnersError
from minikafka.lab.rebuild.trial import YOURS, judge_name
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.witness.directory_diff import files_diff
from minikafka.witness.log.operations import AppendAsLeader, Read, Reopen, Roll

_DIRECTORY = "topic-0"
_LEGEND = """\
The steps follow, and after the last one the log is closed. Compared are what append and read return, and then the
files that end with {suffixes}; the others in right/ are not asked for here.
[3x30 ts=now-500 keys=3] is a batch of 3 records with values of 30 bytes, made 500 ms ago, with keys drawn from 3."""


@dataclass(frozen=True)
class Difference:
    """In words, what tells the logs apart, after so many `steps` of the story; the files of the learner's log then.

    `why_no_files`: why these cannot be had; "" where they can.
    """

    words: str
    story: Story
    steps: int
    files: Mapping[str, bytes]
    why_no_files: str

    def keep(self, directory: Path, suffixes: Sequence[str]) -> None:
        """Lay the files of both logs as they stood then, and the story, into the directory."""
        _lay(self.files, directory / "yours" / _DIRECTORY)
        right = judged(replace(self.story, steps=self.story.steps[: self.steps])).files
        _lay(right, directory / "right" / _DIRECTORY)
        steps = [f"{number}. {step}" for number, step in enumerate(self.story.steps)]
        legend = _LEGEND.format(suffixes=", ".join(suffixes))
        missing = [f"yours/ is empty: {self.why_no_files}"] if self.why_no_files else []
        lines = [self.story.settings_in_words, legend, *steps, self.words, *missing, ""]
        (directory / "story.txt").write_text("\n".join(lines), encoding="utf-8")


def first_difference(mine: LearnersLog, right: JudgedStory, suffixes: Sequence[str]) -> Difference | None:
    """Do the story with a learner's log; where it first differs from the judge's, None for nowhere.

    Compared are the offsets that appends return, the bytes that reads return, and after the close all files that end
    with one of `suffixes`, byte by byte. Errors of the learner's code are differences.
    """
    done, when, words = 0, "Before step 0", ""
    try:
        mine.lay({})
        mine.open(right.story.settings, clean=True)
        for number, judged_step in enumerate(right.steps):
            done, when = number + 1, f"At step {number} ({judged_step.step})"
            if told := _told_apart(mine, right.story, judged_step):
                words = f"{when} {told}"
                break
        else:
            when = "After the last step"
            mine.close()
            when = "After the close"
            words = _told_by_files(mine.files(suffixes), right.files)
    except LearnersError as error:
        words = f"{when}, in {mine.method}:\n{error}"
    return Difference(words, right.story, done, *_files_of(mine)) if words else None


def _told_apart(mine: LearnersLog, story: Story, judged_step: JudgedStep) -> str:
    """Do one step; what tells the logs apart, "" for nothing."""
    step, right = judged_step.step, judged_step.right
    if isinstance(step, Damage):
        files = mine.kill()
        logs = [name for name in files if name.endswith(LOG_FILE_SUFFIX) and "/" not in name]
        if not logs:
            return f"your log had no file that ends with {LOG_FILE_SUFFIX}."
        files[max(logs)] = step.done_to(files[max(logs)])
        mine.lay(files)
        mine.open(story.settings, clean=False)
    elif isinstance(step, AppendAsLeader):
        given = mine.append(*judged_step.arguments)
        if given != right:
            return f"append returned {given}; the batch begins at offset {right}."
    elif isinstance(step, Read):
        read = mine.read(*judged_step.arguments)
        if read != right:
            return f"read returned {_said(read)}; {judge_name()} reads {_said(right)}."
    elif isinstance(step, Roll):
        mine.roll()
    elif isinstance(step, Reopen):
        mine.close()
        mine.open(story.settings, clean=True)
    return ""


def _told_by_files(mine: Mapping[str, bytes], right: Mapping[str, bytes]) -> str:
    found = files_diff(mine, right, (YOURS.replace("function", "log"), judge_name()), {})
    return "" if found.equal else f"After the close: {found.differences[0]}"


def _files_of(mine: LearnersLog) -> tuple[Mapping[str, bytes], str]:
    try:
        return mine.files(), ""
    except LearnersError as error:  # its process has ended, or its directory has what cannot be kept
        return {}, str(error)


def _lay(files: Mapping[str, bytes], directory: Path) -> None:
    directory.mkdir(parents=True)
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)


def _said(data: bytes) -> str:
    if len(data) < 8:
        return f"{len(data)} bytes"
    return f"{len(data)} bytes from base offset {int.from_bytes(data[:8], 'big', signed=True)} on"
