"""What a learner has done so far, kept in `.progress.json` of the working copy: readable, and the learner's to delete.

Nothing is kept where there is no working copy: a committed notebook, nbval and the tests leave no trace. A lesson never
fails because of this file. What cannot be kept is told in one line, once.
"""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minikafka.common.at_hand import HAS_LOCKS, LOCK_EX, LOCK_NB, flock
from minikafka.common.errors import IOException
from minikafka.lab.exercises.plain_file import json_bytes, read_plain_file, replace_plain_file
from minikafka.lab.exercises.predict_call import ids_by_question, is_id
from minikafka.lab.language.chosen import LANGUAGES

LAID_OUT = ".laid-out.json"
"""Stands in a working copy, and nowhere else: the notebooks as they were laid out."""
FILE = ".progress.json"
KINDS = ("predictions", "exercises", "rungs")
DONE = {"predictions": "right", "exercises": "correct", "rungs": "correct"}
"""The outcome by which a thing of each kind is done."""

_VERSION = 1
_MOST_BYTES = 4 << 20  # of the file; with all that the course asks it has a tenth of a MB
_MOST = 10**9
"""Nobody tries more often: a larger number in the file is not from here."""
_NUMBERED = re.compile(r"^(Exercise|Rung) \d+, ", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_WAIT_S = 2.0
_told: set[str] = set()


def key_of(name: str) -> str:
    """By what the entry of a task called `name` is kept: its words without its number, which another edition may change."""
    return _NUMBERED.sub("", name)


def note(kind: str, name: str, outcome: str, *, tries: int = 1, solutions_seen: int = 0) -> None:
    """Keep the outcome of something that the learner did: of `kind` (one of KINDS), called `name` (a prediction: its id).

    `outcome`: "right" or "wrong", "correct" or "not yet"; "" leaves what is known. `tries` and `solutions_seen` are added
    to those before. Raises nothing.
    """
    desk = desk_here()
    if desk is None:
        return
    try:
        with _locked(desk):
            progress = _read_or_put_aside(desk / FILE)
            entry = progress[kind].setdefault(key_of(name), _new_entry())
            entry["tries"] = min(entry["tries"] + tries, _MOST)
            entry["solutions_seen"] = min(entry["solutions_seen"] + solutions_seen, _MOST)
            entry["last"] = _now()
            if outcome:
                entry["outcome"] = outcome
            if outcome == DONE[kind] and not entry["done"]:
                entry["done"], entry["tries_until_done"] = entry["last"], entry["tries"]
            _write(desk / FILE, progress)
    except OSError as error:
        _tell_once(f"Your progress is not kept: {error.strerror or error}.")


def read(desk: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """What is kept in the working copy: by kind and `key_of` the name the entries that `note` makes. Nothing, where
    nothing readable is kept.
    """
    try:
        return parsed(read_plain_file(desk / FILE, _MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return _nothing()


Progress = dict[str, dict[str, dict[str, Any]]]


def merge(desk: Path, other: Progress) -> None:
    """Add what was kept elsewhere, as `parsed` gives it. To merge the same again changes nothing. Raises OSError."""
    with _locked(desk):
        progress = _read_or_put_aside(desk / FILE)
        for kind, entries in other.items():
            for name, entry in entries.items():
                known = progress[kind].get(name)
                progress[kind][name] = entry if known is None else _both(known, entry)
        _write(desk / FILE, progress)


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """An entry of what two desks know of a task: the later outcome, the earlier success, the larger numbers."""
    later = max(one, other, key=lambda entry: entry["last"])
    done = min((entry for entry in (one, other) if entry["done"]), key=lambda entry: entry["done"], default=later)
    return {
        "outcome": later["outcome"],
        "tries": max(one["tries"], other["tries"]),
        "tries_until_done": done["tries_until_done"],
        "solutions_seen": max(one["solutions_seen"], other["solutions_seen"]),
        "first": min(one["first"], other["first"]),
        "last": later["last"],
        "done": done["done"],
    }


def desk_here() -> Path | None:
    """The working copy in whose top directory this process runs, as the kernel of a lesson does; None elsewhere.

    A lesson in another language runs one directory below it, in that language's folder, and counts. The notebooks of
    solutions run one directory below it as well, and count for nothing.
    """
    try:
        here = Path.cwd()
    except OSError:  # the directory has gone
        return None
    desk = here.parent if here.name in LANGUAGES else here
    return desk if os.path.isfile(desk / LAID_OUT) else None


def _new_entry() -> dict[str, Any]:
    return {
        "outcome": "",
        "tries": 0,
        "tries_until_done": None,
        "solutions_seen": 0,
        "first": _now(),
        "last": _now(),
        "done": None,
    }


@contextmanager
def _locked(desk: Path) -> Iterator[None]:
    """One writer at a time, of all notebooks. Raises OSError when another holds the lock for seconds."""
    if not HAS_LOCKS:  # in a browser each notebook has its kernel, and an entry that one writes is of its own tasks
        yield
        return
    descriptor = os.open(desk, os.O_RDONLY)
    try:
        end = time.monotonic() + _WAIT_S
        while True:
            try:
                flock(descriptor, LOCK_EX | LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise OSError(f"another notebook has kept {FILE} locked for {_WAIT_S:g} seconds") from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)  # and with it the lock


def _read_or_put_aside(file: Path) -> dict[str, dict[str, dict[str, Any]]]:
    try:
        return parsed(read_plain_file(file, _MOST_BYTES))
    except FileNotFoundError:
        return _nothing()
    except (IOException, ValueError, RecursionError):  # of these, IOException: it is a link, or no file, or too large
        aside = next(name for number in range(1, 10**6) if not os.path.lexists(name := _aside(file, number)))
        file.rename(aside)
        _tell_once(f"{FILE} could not be read. It is {aside.name} now, and a new one has begun.")
        return _nothing()


def _aside(file: Path, number: int) -> Path:
    return file.with_name(f"{file.stem}-unreadable-{number}{file.suffix}")


def parsed(data: bytes) -> dict[str, dict[str, dict[str, Any]]]:
    """The kinds of a file's content, as `read` gives them. Raises ValueError unless it is as `note` writes it."""
    content = json.loads(data)
    if not isinstance(content, dict) or content.get("version") != _VERSION:
        raise ValueError("no progress of this version")
    progress = {kind: content.get(kind) for kind in KINDS}
    for entries in progress.values():
        if not isinstance(entries, dict) or not all(map(_is_entry, entries.values())):
            raise ValueError("no progress")
    by_words = {
        kind: {key_of(name): entry for name, entry in progress[kind].items()} for kind in ("exercises", "rungs")
    }
    return {"predictions": _by_id(progress["predictions"]), **by_words}


def _by_id(predictions: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The entries of predictions by their ids. An earlier version kept them by their questions. Unknown names stay."""
    if all(map(is_id, predictions)):
        return predictions
    ids = {question: name for question, name in ids_by_question().items() if name not in predictions}
    return {ids.get(name, name): entry for name, entry in predictions.items()}


def _is_entry(entry: object) -> bool:
    known = _new_entry()
    if not isinstance(entry, dict) or set(entry) != set(known):
        return False
    numbers = all(map(_is_number, (entry["tries"], entry["solutions_seen"])))
    words = isinstance(entry["outcome"], str) and all(map(_is_time, (entry["first"], entry["last"])))
    done = _is_time(entry["done"]) and _is_number(entry["tries_until_done"])
    return numbers and words and (done or entry["done"] is entry["tries_until_done"] is None)


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _is_time(value: object) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def _write(file: Path, progress: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Replace the file as a whole: a stop in between leaves the old one. Raises IOException for more than is read."""
    content = json_bytes({"version": _VERSION, **progress})
    if len(content) > _MOST_BYTES:
        raise IOException(f"{FILE} would have more than {_MOST_BYTES} bytes")
    replace_plain_file(file, content)


def _nothing() -> dict[str, dict[str, dict[str, Any]]]:
    return {kind: {} for kind in KINDS}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _tell_once(words: str) -> None:
    if words not in _told:
        _told.add(words)
        print(words)
