"""What `recover` and `clean` keep while they change a directory in place, so that a run that does not end can be
undone.

A killed broker leaves a directory that its next start mends, because the mark of a clean stop is gone. A tool that is
killed must leave it like that, too. And it must do more: the next run of the tool is to end as an undisturbed run would
have ended, although half of the work may be done, and nothing else tells any more that the last stop was clean.

- Before the first change, each partition's directory gets a subdirectory `.minikafka-undo`: a hard link to each segment
  that will only be read, a copy of every other file that a load may change. Kafka passes over subdirectories.
- Then the log directory gets a file `.minikafka-undo`, which lists the partitions and holds the mark and the
  checkpoints as they were. Kafka passes over files that it does not know. The mark goes, and the directory is synced.
- After the last change, the mark comes back if it was there, and the file goes. From here on the run is done. The
  subdirectories go last.

While the file is there, `take_back` makes everything as it was. A run that ends with an error or with a signal does
that itself; after a kill, the next run begins with it. What others have done since then stays: what the checkpoints say
of other partitions; the mark does not come back if these have changed; and nothing is undone if the mark has come back,
or if a segment is not one that a tool's run can have left. Copies are not synced, as there may be
thousands; if the power fails before the system has written one, its checksum is wrong, and nothing is undone either:
the directory is then one after an unclean stop.
"""

import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from crc32c import crc32c

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from minikafka.common import file_ops
from minikafka.common.bounded_file import read_text_file
from minikafka.common.errors import IOException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE as CLEANER_OFFSET_CHECKPOINT_FILE
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import DELETED_FILE_SUFFIX, LOG_FILE_SUFFIX
from minikafka.log.manager.log_dir_checkpoints import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.log.partition_files import is_loaded, require_regular
from minikafka.tools.failure import describe
from minikafka.tools.log_dir_entries import has_name_of_partition
from minikafka.tools.printable import tell
from minikafka.tools.read_bounded import read_bounded

UNDO = ".minikafka-undo"
CHECKPOINTS = (RECOVERY_POINT_CHECKPOINT_FILE, LOG_START_OFFSET_CHECKPOINT_FILE, CLEANER_OFFSET_CHECKPOINT_FILE)
"""Those of a log directory that a log manager or a round of the cleaner may make or replace."""
_COMING_BACK = UNDO + DELETED_FILE_SUFFIX
"""The end of the name of a file that is about to come back: a start of Kafka deletes it."""
_TEXT = "latin-1"  # gives any bytes a text, and the text its bytes


@contextmanager
def undoable(
    log_dir: Path, files: Mapping[Path, Sequence[Path]], cut: Mapping[Path, Collection[str]], *, takes_mark: bool
) -> Iterator[None]:
    """Change partitions in the block: if it fails, or the process ends in it, all is as before, or will be.

    `files`: the files of each partition's directory. `cut`: the names of the segments in which bytes may change or end.
    `takes_mark`: the mark of a clean stop is away during the block; otherwise whoever works in the block sees to it.
    The caller has the log directory for itself. Raises OSError, but for what cannot be removed when all is done: that
    is told on stderr.
    """
    mark = log_dir / CLEAN_SHUTDOWN_FILE_NAME
    beside = {name: _content(log_dir / name) for name in (CLEAN_SHUTDOWN_FILE_NAME, *CHECKPOINTS)}
    try:
        partitions = {each.name: _kept(each, of_one, cut[each]) for each, of_one in files.items()}
        _replace(log_dir / UNDO, json.dumps({"beside": beside, "partitions": partitions}).encode())
    except BaseException:
        with suppress(OSError):
            _finish(log_dir, files)
        raise
    try:
        if takes_mark and file_ops.delete_if_exists(mark):
            file_ops.flush_dir(log_dir)
        yield
        if beside[mark.name] is not None and takes_mark:
            _replace(mark, beside[mark.name].encode(_TEXT))
    except BaseException:
        try:
            file_ops.delete_if_exists(mark)  # it would say that the run has ended
            take_back(log_dir, follow_links=True, quiet=True)
        except OSError as error:
            tell(f"Warning: {describe(error)}; the next run will undo what this one has changed in {log_dir}", err=True)
        raise
    try:
        _finish(log_dir, files)
    except OSError as error:  # all is done: it would be a lie to fail now
        _tell_what_is_left(log_dir, files, error)


def _tell_what_is_left(log_dir: Path, directories: Collection[Path], error: OSError) -> None:
    told = f"Warning: the run in {log_dir} is done, and could not remove what it kept ({describe(error)}): remove"
    if os.path.lexists(log_dir / UNDO):
        tell(f"{told} {log_dir / UNDO}, or the next run may undo this one", err=True)
        return
    for directory in directories:
        with suppress(OSError):
            forget([directory])
        if os.path.lexists(directory / UNDO):
            tell(f"{told} {directory / UNDO}", err=True)


def take_back(log_dir: Path, *, follow_links: bool, quiet: bool = False) -> None:
    """Undo what a run that did not end has changed in the log directory, and say so on stderr unless `quiet`.

    What a file here says is not believed as far as to change a file elsewhere: only `follow_links` allows that, as it
    allowed it to the interrupted run. Does nothing where no run was interrupted. Raises OSError, and IOException for a
    file that no run has written, or one whose run followed links when this one does not.
    """
    file = log_dir / UNDO
    if not os.path.lexists(file):
        return
    require_regular(file)
    beside, partitions = _read(file)
    if not follow_links and any(facts["link"] is not None for kept in partitions.values() for facts in kept.values()):
        raise IOException(f"{file} is of an interrupted run that followed links: --follow-links lets this one undo it")
    directories = {log_dir / name: kept for name, kept in partitions.items() if (log_dir / name / UNDO).is_dir()}
    if os.path.lexists(log_dir / CLEAN_SHUTDOWN_FILE_NAME):
        outcome = "had ended, or not begun"
    elif all(_is_ours(directory, kept) for directory, kept in directories.items()):
        for directory, kept in directories.items():
            _put_back(directory, kept, follow_links=follow_links)
        ours = {parse_topic_partition_name(log_dir / name) for name in partitions}
        was_used = _has_changed(log_dir, file.stat().st_mtime_ns, but=partitions)
        for name in CHECKPOINTS:
            was_used |= _put_checkpoint_back(log_dir / name, beside[name], ours)
        if (content := beside[CLEAN_SHUTDOWN_FILE_NAME]) is not None and not was_used:
            _replace(log_dir / CLEAN_SHUTDOWN_FILE_NAME, content.encode(_TEXT))
        outcome = "is undone"
    else:
        outcome = "is not undone, because other changes came after it, or what it kept is damaged"
    _finish(log_dir, directories)
    if not quiet:
        tell(f"Warning: an earlier run in {log_dir} was interrupted; it {outcome}", err=True)


def forget(directories: Collection[Path]) -> None:
    """Delete what is kept in partitions of which no run is under way. Raises OSError."""
    for directory in directories:
        file_ops.delete_directory(directory / UNDO)


def _replace(file: Path, content: bytes) -> None:
    """`replace_file`, by way of a new draft: one that is there may be a link, which `replace_file` follows as Kafka."""
    file_ops.delete_if_exists(file.with_name(f"{file.name}.tmp"))
    file_ops.replace_file(file, content)


def _finish(log_dir: Path, directories: Collection[Path]) -> None:
    file_ops.delete_if_exists(log_dir / f"{UNDO}.tmp")
    if file_ops.delete_if_exists(log_dir / UNDO):
        file_ops.flush_dir(log_dir)
    forget(directories)


# ---- what is kept


def _kept(directory: Path, files: Sequence[Path], cut: Collection[str]) -> dict[str, dict]:
    """Make the partition's subdirectory, and tell what is to be known of each file."""
    undo = directory / UNDO
    file_ops.delete_directory(undo)
    file_ops.create_directories(undo)
    kept = {}
    for file in files:
        status = file.stat()
        link = os.readlink(file) if file.is_symlink() else None
        copied = file.name in cut if LOG_FILE_SUFFIX in file.name else is_loaded(file.name)
        if copied or (link is None and not _hard_linked(file, undo / file.name)):
            _copy(file, undo / file.name)
        kept[file.name] = {
            "size": status.st_size,
            "changed": status.st_mtime_ns,
            "copied": copied,
            "crc": _crc(undo / file.name) if copied else 0,
            "link": link,
        }
    return kept


def _hard_linked(file: Path, other: Path) -> bool:
    """False where the file system has no hard links, or no more of them."""
    try:
        os.link(file, other)
    except OSError:
        return False
    return True


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copy2(source, target)
    except OSError as error:
        error.filename = error.filename or str(target)
        raise


def _content(file: Path) -> str | None:
    """The bytes of a file of the log directory, as a text; None if it is missing."""
    if not os.path.lexists(file):
        return None
    require_regular(file, follow_links=True)
    return read_bounded(file).decode(_TEXT)


# ---- what comes back


def _read(file: Path) -> tuple[dict[str, str | None], dict[str, dict]]:
    """What `undoable` has written. Raises IOException for anything else: names in it decide what is deleted."""
    try:
        told = json.loads(read_text_file(file))
        beside, partitions = told["beside"], told["partitions"]
        sound = beside.keys() == {CLEAN_SHUTDOWN_FILE_NAME, *CHECKPOINTS} and all(
            content is None or content.encode(_TEXT) is not None for content in beside.values()
        )
        for name, kept in partitions.items():
            sound = sound and _is_name(name) and has_name_of_partition(file.parent / name)
            for entry, facts in kept.items():
                sound = sound and _is_name(entry) and (facts["link"] is None or isinstance(facts["link"], str))
                sound = sound and {type(facts[each]) for each in ("size", "changed", "crc")} == {int}
                sound = sound and type(facts["copied"]) is bool
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise IOException(f"{file} is not what an interrupted run leaves; remove it if no tool is at work there")
    return beside, partitions


def _is_name(text: str) -> bool:
    return text not in ("", ".", "..") and "/" not in text and "\0" not in text


def _is_ours(directory: Path, kept: Mapping[str, dict]) -> bool:
    """True if what is kept is whole, and each segment one that a tool's run can have left: unchanged, cut, or in place
    of others.
    """
    undo = directory / UNDO
    if any(facts["copied"] and _crc(undo / name) != facts["crc"] for name, facts in kept.items()):
        return False
    segments = {name for name in kept if name.endswith(LOG_FILE_SUFFIX)}
    for file in directory.iterdir():
        if not file.name.endswith(LOG_FILE_SUFFIX) or not file.is_file():
            continue
        if file.name not in segments:
            if file.name > max(segments, default=""):
                return False
            continue
        facts, status = kept[file.name], file.stat()
        if facts["copied"] and not _begins_with(undo / file.name, file):
            return False
        if not facts["copied"] and file.name == max(segments):  # the active segment: what is appended goes there
            if (status.st_size, status.st_mtime_ns) != (facts["size"], facts["changed"]):
                return False
    return True


def _crc(file: Path) -> int | None:
    """The CRC-32C of a regular file; None for anything else."""
    if not file.is_file() or file.is_symlink():
        return None
    crc = 0
    with open(file, "rb") as opened:
        while chunk := opened.read(1 << 20):
            crc = crc32c(chunk, crc)
    return crc


def _begins_with(whole: Path, file: Path) -> bool:
    """True if the bytes of `file` are the first ones of `whole`."""
    with open(whole, "rb") as one, open(file, "rb") as other:
        while chunk := other.read(1 << 20):
            if one.read(len(chunk)) != chunk:
                return False
    return True


def _put_back(directory: Path, kept: Mapping[str, dict], *, follow_links: bool) -> None:
    """Make the directory's files what they were; what is kept stays, so that this can be interrupted, too."""
    undo = directory / UNDO
    for entry in sorted(directory.iterdir()):
        if entry.name not in kept and (entry.is_symlink() or not entry.is_dir()):
            file_ops.delete_if_exists(entry)
    for name, facts in kept.items():
        file, before = directory / name, undo / name
        if facts["link"] is not None:
            _put_link_back(file, before if facts["copied"] else None, facts["link"])
        elif follow_links and facts["copied"] and file.exists() and file.stat().st_nlink > 1:
            shutil.copy2(before, file)  # whoever has another name for it gets its bytes back, too
        elif facts["copied"] or not (file.exists() and before.samefile(file)):
            coming = directory / (name + _COMING_BACK)
            if facts["copied"] or not _hard_linked(before, coming):
                _copy(before, coming)
                file_ops.flush_file_if_exists(coming)
            file_ops.rename(coming, file)
    file_ops.flush_dir(directory)


def _has_changed(log_dir: Path, since: int, *, but: Collection[str]) -> bool:
    """Whether anything in another partition's directory has changed since that time (ns), by a broker that was killed,
    say: then it would not be true that the last stop was clean.
    """
    others = [
        each for each in log_dir.iterdir() if each.name not in but and each.is_dir() and has_name_of_partition(each)
    ]
    return any(file.lstat().st_mtime_ns > since for each in others for file in (each, *each.iterdir()))


def _put_checkpoint_back(file: Path, before: str | None, ours: Collection[TopicPartition]) -> bool:
    """Let the checkpoint say again what it said `before` of our partitions; of others it says what it says now, as a
    broker may have been there since. Returns whether that differs.
    """
    told_before, told_now = _lines_of(before), _lines_of(_content(file))
    others = {each: line for each, line in told_now.items() if each not in ours}
    has_changed = others != {each: line for each, line in told_before.items() if each not in ours}
    if has_changed:
        lines = [*(told_before[each] for each in told_before if each in ours), *others.values()]
        before = "\n".join(["0", str(len(lines)), *lines, ""])
    if before is None:
        file_ops.delete_if_exists(file)
    else:
        _replace(file, before.encode(_TEXT))
    return has_changed


def _lines_of(checkpoint: str | None) -> dict[TopicPartition, str]:
    """The lines of a checkpoint with this text, by partition; none of a damaged one, as to a broker."""
    lines = (checkpoint or "").splitlines()
    try:
        told = {
            TopicPartition(topic, int(partition)): line for line in lines[2:] for topic, partition, _ in [line.split()]
        }
        return told if lines[:2] == ["0", str(len(told))] else {}
    except ValueError:
        return {}


def _put_link_back(link: Path, before: Path | None, target: str) -> None:
    """Make a symbolic link what it was, and what it leads to the copy `before`, if there is one."""
    if not (link.is_symlink() and os.readlink(link) == target):
        file_ops.delete_if_exists(link)
        os.symlink(target, link)
    if before is not None:
        shutil.copyfile(before, link)
