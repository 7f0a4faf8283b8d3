"""What `recover` and `clean` keep while they change a directory in place, so that a run that does not end can be
undone.

A killed broker leaves a directory that its next start mends, because the mark of a clean stop is gone. A tool that is
killed must leave it like that, too. And it must do more: the next run of the tool is to end as an undisturbed run would
have ended, although half of the work may be done, and nothing else tells any more that the last stop was clean.

- First, the log directory gets a file `.minikafka-undo-kept-in`, which lists the partitions. Kafka passes over files
  that it does not know.
- Before the first change, each partition's directory gets a subdirectory `.minikafka-undo`: a hard link to each segment
  that will only be read, a copy of every other file that a load may change. Kafka passes over subdirectories.
- Then the log directory gets a file `.minikafka-undo`, which tells how the partitions were and holds the mark and the
  checkpoints as they were. The mark goes, and the directory is synced.
- After the last change, the mark comes back if it was there, and the file `.minikafka-undo` goes. From here on the run
  is done. The subdirectories go, and last the list of them.

While the file `.minikafka-undo` is there, `take_back` makes everything as it was. A run that ends with an error or
with a signal does that itself; after a kill, the next run begins with it. What others have done since then stays: what
the checkpoints say of other partitions; the mark does not come back if these have changed. Nothing is undone if the
mark has come back, or unless every partition is proven to be as the run left it: the file also tells what the run was
going to make of it (`Expected`), and a broker that deletes or appends records, or makes a topic anew, leaves something
else. Copies are not synced, as there may be thousands; if the power fails before the system has written one, its
checksum is wrong, and nothing is undone either: the directory is then one after an unclean stop.

What the file says may be a lie, as the directory may be anybody's. It is believed only of what lies in the log
directory itself, and nothing is deleted before everything that was kept is seen to be there. A subdirectory
`.minikafka-undo` that neither file of its log directory names is not of a run there: the partition may have been moved
after a kill, and what it holds may be the only copy of records. It is never deleted, and no run begins over it.
"""

import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.common import file_ops
from minikafka.common.at_hand import crc32c
from minikafka.common.bounded_file import read_text_file
from minikafka.common.errors import IOException
from minikafka.common.file_kind import DIRECTORY, LINK, REGULAR_FILE, kind_of
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE as CLEANER_OFFSET_CHECKPOINT_FILE
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import DELETED_FILE_SUFFIX, LOG_FILE_SUFFIX, SWAP_FILE_SUFFIX
from minikafka.log.manager.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.log.partition_files import FOLLOW_LINKS, has_name_of_a_file, is_loaded, require_regular
from minikafka.tools.broker_user import leave_to_owner
from minikafka.tools.ended_by_signals import let_signals_wait
from minikafka.tools.failure import describe
from minikafka.tools.log_dir_entries import has_name_of_partition
from minikafka.tools.printable import tell
from minikafka.tools.read_bounded import read_bounded

UNDO = ".minikafka-undo"
KEPT_IN = f"{UNDO}-kept-in"
NOT_OF_A_RUN_HERE = (
    "is not of a run in this log directory, and may hold the only copies of records: if the partition was moved here "
    "after recover or clean was interrupted, move it back and recover it there; else move this out of the partition"
)
"""What is wrong with a partition's `.minikafka-undo` that nothing beside the partition's directory vouches for."""
CHECKPOINTS = (RECOVERY_POINT_CHECKPOINT_FILE, LOG_START_OFFSET_CHECKPOINT_FILE, CLEANER_OFFSET_CHECKPOINT_FILE)
"""Those of a log directory that a log manager or a round of the cleaner may make or replace."""
_COMING_BACK = UNDO + DELETED_FILE_SUFFIX
"""The end of the name of a file that is about to come back: a start of Kafka deletes it."""
_TEXT = "latin-1"  # gives any bytes a text, and the text its bytes


class Expected(NamedTuple):
    """What a run is going to make of a partition, as far as that tells its work from the work of others.

    `cut`: the names of the segments in which bytes may change or end. `staying`: of those that are there afterwards,
    too. `made`: of those that are new. `noted`: the offset that each checkpoint may get.
    """

    cut: Collection[str]
    staying: Collection[str]
    made: Collection[str]
    noted: Mapping[str, int]


@contextmanager
def undoable(
    log_dir: Path, files: Mapping[Path, Sequence[Path]], expected: Mapping[Path, Expected], *, takes_mark: bool
) -> Iterator[None]:
    """Change partitions in the block: if it fails, or the process ends in it, all is as before, or will be.

    `files`: the files of each partition's directory. `expected`: what the block is going to make of it. `takes_mark`:
    the mark of a clean stop is away during the block; otherwise whoever works in the block sees to it. The caller has
    the log directory for itself. From the end of the block on signals wait (`let_signals_wait`), for the report. Raises
    OSError, but for what cannot be removed when all is done: that is told on stderr.
    """
    mark = log_dir / CLEAN_SHUTDOWN_FILE_NAME
    beside = {name: _content(log_dir / name) for name in (CLEAN_SHUTDOWN_FILE_NAME, *CHECKPOINTS)}
    try:
        _replace(log_dir / KEPT_IN, json.dumps([each.name for each in files]).encode())
        partitions = {each.name: _kept(each, of_one, expected[each]) for each, of_one in files.items()}
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
        let_signals_wait()  # all is done, and what is kept must not be half removed
    except BaseException:
        let_signals_wait()
        try:
            file_ops.delete_if_exists(mark)  # it would say that the run has ended
            if all(_is_whole(each, partitions[each.name]["files"]) for each in files):
                _undo(log_dir, beside, partitions, follow_links=True)
                _finish(log_dir, files)
            else:
                tell(
                    f"Warning: what this run has changed in {log_dir} is not undone: what it kept is damaged", err=True
                )
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
            _forget([directory])
        if os.path.lexists(directory / UNDO):
            tell(f"{told} {directory / UNDO}", err=True)


def take_back(log_dir: Path, directories: Collection[Path], *, follow_links: bool) -> None:
    """Undo what a run that did not end has changed in the log directory, and say so on stderr.

    What a file here says is not believed as far as to change a file elsewhere: only `follow_links` allows that, as it
    allowed it to the interrupted run. Does nothing where no run was interrupted. Raises OSError; before anything is
    changed IOException for a file that no run has written, one whose run followed links when this one does not, a
    `.minikafka-undo` in one of the `directories` of partitions that is not of a run here, and a mark of a clean stop or
    a checkpoint that is a link: this run, too, may have to replace it.
    """
    for name in (CLEAN_SHUTDOWN_FILE_NAME, *CHECKPOINTS):  # replaced as a whole, a link would become a file
        if os.path.lexists(log_dir / name) and not _is_odd_mark(log_dir / name):
            require_regular(log_dir / name)
    file = log_dir / UNDO
    left_in = interrupted_in(log_dir)
    _require_kept_by_a_run_here({*directories, *(log_dir / name for name in left_in)}, left_in)
    has_begun = os.path.lexists(file)
    if not has_begun and not os.path.lexists(log_dir / KEPT_IN):
        return
    beside, partitions = _read(file) if has_begun else ({}, {})
    for name in sorted(left_in) if not follow_links else ():
        if _leads_elsewhere(log_dir / name, partitions[name]["files"] if name in partitions else {}):
            noted = file if name in partitions else log_dir / KEPT_IN
            raise IOException(
                f"{noted} is of an interrupted run that followed links: {FOLLOW_LINKS} lets this one undo it"
            )
    for name in left_in:
        require_nothing_to_undo_there(log_dir / name)
    if not has_begun or os.path.lexists(log_dir / CLEAN_SHUTDOWN_FILE_NAME):
        outcome = "had ended, or not begun"
    elif all(_is_ours(log_dir / name, told) for name, told in partitions.items()) and not _others_have_noted(
        log_dir, beside, partitions
    ):
        _undo(log_dir, beside, partitions, follow_links=follow_links)
        outcome = "is undone"
    else:
        outcome = "is not undone, because other changes came after it, or what it kept is damaged"
    _finish(log_dir, [log_dir / name for name in left_in if (log_dir / name).is_dir()])
    tell(f"Warning: an earlier run in {log_dir} was interrupted; it {outcome}", err=True)


def interrupted_in(log_dir: Path) -> set[str]:
    """The names of the partitions in which a run in this log directory has kept something, or may have.

    Raises OSError, IOException for a file that no run has written.
    """
    names: set[str] = set()
    if os.path.lexists(log_dir / KEPT_IN):
        require_regular(log_dir / KEPT_IN)
        names.update(_read_names(log_dir / KEPT_IN))
    if os.path.lexists(log_dir / UNDO):
        require_regular(log_dir / UNDO)
        names.update(_read(log_dir / UNDO)[1])
    return names


def is_of_a_run_here(directory: Path) -> bool:
    """Whether the `.minikafka-undo` in a partition's directory was left by a run in the log directory in which it lies.

    Raises OSError.
    """
    directory = Path(os.path.abspath(directory))
    try:
        return directory.name in interrupted_in(directory.parent)
    except IOException:
        return False


def _require_kept_by_a_run_here(directories: Collection[Path], left_in: Collection[str]) -> None:
    """Raises IOException for a `.minikafka-undo` in one of the partitions' directories that must not be deleted."""
    for directory in sorted(directories):
        undo = directory / UNDO
        if not os.path.lexists(undo):
            continue
        if directory.name not in left_in or kind_of(undo) != DIRECTORY:
            raise IOException(f"{undo} {NOT_OF_A_RUN_HERE}")
        for file in sorted(undo.iterdir()):
            if not _may_change(file) or kind_of(file) != REGULAR_FILE:
                raise IOException(f"{file} is not of a run of recover or clean: move it out of there")


def require_nothing_to_undo_there(directory: Path) -> None:
    """Raises IOException for a link to a partition in another log directory where a run was interrupted.

    What that run kept lies in the partition, and this run would delete it.
    """
    there = Path(os.path.realpath(directory)).parent
    if directory.is_symlink() and there != Path(os.path.realpath(directory.parent)):
        if any(os.path.lexists(there / name) for name in (UNDO, KEPT_IN)):
            raise IOException(f"{directory} leads to where a run was interrupted: recover {there} first")


def _leads_elsewhere(directory: Path, kept: Mapping[str, dict]) -> bool:
    """Whether the directory is a link, or one of its files was one: what they lead to would be changed."""
    return directory.is_symlink() or any(facts["link"] is not None for facts in kept.values())


def _undo(
    log_dir: Path, beside: Mapping[str, str | None], partitions: Mapping[str, dict], *, follow_links: bool
) -> None:
    """Make everything as it was; the mark of a clean stop comes back unless others have been there meanwhile."""
    for name, told in partitions.items():
        _put_back(log_dir / name, told["files"], follow_links=follow_links)
    ours = {parse_topic_partition_name(log_dir / name) for name in partitions}
    was_used = _has_changed(log_dir, (log_dir / UNDO).stat().st_mtime_ns, but=partitions)
    for name in CHECKPOINTS:
        was_used |= _put_checkpoint_back(log_dir / name, beside[name], ours)
    if (content := beside[CLEAN_SHUTDOWN_FILE_NAME]) is not None and not was_used:
        _replace(log_dir / CLEAN_SHUTDOWN_FILE_NAME, content.encode(_TEXT))


def _forget(directories: Collection[Path]) -> None:
    """Delete what is kept in partitions of which no run is under way. Raises OSError."""
    for directory in directories:
        file_ops.delete_directory(directory / UNDO)


def _replace(file: Path, content: bytes) -> None:
    """`replace_file`, by way of a new draft: one that is there may be a link, which `replace_file` follows as Kafka."""
    file_ops.delete_if_exists(file.with_name(f"{file.name}.tmp"))
    file_ops.replace_file(file, content)


def _finish(log_dir: Path, directories: Collection[Path]) -> None:
    """Leave what was made to the broker's user, and take away all that a run has kept, of which nothing is to be undone
    any more. This needs no room on the disk.
    """
    for directory in directories:
        leave_to_owner(directory, (file for file in directory.iterdir() if _may_change(file)))
        leave_to_owner(directory, (log_dir / name for name in (CLEAN_SHUTDOWN_FILE_NAME, *CHECKPOINTS)))
    for name in (UNDO, KEPT_IN):
        file_ops.delete_if_exists(log_dir / f"{name}.tmp")
    if file_ops.delete_if_exists(log_dir / UNDO):
        file_ops.flush_dir(log_dir)
    _forget(directories)
    for directory in directories:
        file_ops.flush_dir(directory)
    if file_ops.delete_if_exists(log_dir / KEPT_IN):
        file_ops.flush_dir(log_dir)


# ---- what is kept


def _kept(directory: Path, files: Sequence[Path], expected: Expected) -> dict[str, object]:
    """Make the partition's subdirectory, and tell what is to be known of each file that a load may change or delete."""
    undo = directory / UNDO
    file_ops.create_directories(undo)
    kept = {}
    for file in filter(_may_change, files):
        status = file.stat()
        link = os.readlink(file) if file.is_symlink() else None
        copied = file.name in expected.cut if LOG_FILE_SUFFIX in file.name else is_loaded(file.name)
        if copied or (link is None and not _hard_linked(file, undo / file.name)):
            _copy(file, undo / file.name)
        kept[file.name] = {
            "size": status.st_size,
            "changed": status.st_mtime_ns,
            "copied": copied,
            "crc": _crc(undo / file.name) if copied else 0,
            "link": link,
            "stays": file.name in expected.staying,
        }
    return {"files": kept, "made": sorted(expected.made), "noted": dict(expected.noted)}


def _may_change(file: Path) -> bool:
    """Whether a load, or a round of the cleaner, may make, change or delete a file of that name."""
    return has_name_of_a_file(file.name)


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
    """The bytes of a file of the log directory, as a text; None if it is missing, none of a mark that is no file: one
    that is an empty file says the same.
    """
    if not os.path.lexists(file):
        return None
    if _is_odd_mark(file):
        return ""
    require_regular(file, follow_links=True)
    return read_bounded(file).decode(_TEXT)


def _is_odd_mark(file: Path) -> bool:
    """Whether it is a mark of a clean stop that is neither a file nor a link. Kafka asks only whether one is there."""
    return file.name == CLEAN_SHUTDOWN_FILE_NAME and kind_of(file) not in (REGULAR_FILE, LINK)


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
            sound = sound and all(type(each) is str for each in kept["made"])
            sound = sound and all(each in CHECKPOINTS and type(at) is int for each, at in kept["noted"].items())
            for entry, facts in kept["files"].items():
                sound = sound and _is_name(entry) and (facts["link"] is None or isinstance(facts["link"], str))
                sound = sound and {type(facts[each]) for each in ("size", "changed", "crc")} == {int}
                sound = sound and {type(facts[each]) for each in ("copied", "stays")} == {bool}
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise _broken(file)
    return beside, partitions


def _read_names(file: Path) -> list[str]:
    """The names of partitions that `undoable` has written. Raises IOException for anything else."""
    try:
        names = json.loads(read_text_file(file))
        if isinstance(names, list) and all(
            _is_name(name) and has_name_of_partition(file.parent / name) for name in names
        ):
            return names
    except (ValueError, TypeError, RecursionError):
        pass
    raise _broken(file)


def _broken(file: Path) -> IOException:
    return IOException(f"{file} is not what an interrupted run leaves; remove it if no tool is at work there")


def _is_name(text: str) -> bool:
    return text not in ("", ".", "..") and "/" not in text and "\0" not in text


def _is_ours(directory: Path, told: Mapping) -> bool:
    """True if what is kept of the partition is whole, and each segment one that the run can have left: unchanged, cut,
    or in place of others. None is missing that was to stay.
    """
    kept = told["files"]
    if not _is_whole(directory, kept):
        return False
    segments = {name for name in kept if name.endswith(LOG_FILE_SUFFIX)}
    there = {file.name: file for file in directory.iterdir()}
    for name in segments - there.keys():
        if kept[name]["stays"] and name + SWAP_FILE_SUFFIX not in there:
            return False
    for name, file in there.items():
        if not name.endswith(LOG_FILE_SUFFIX) or file.is_dir():
            continue
        if name not in segments:
            if name not in told["made"] or name > max(segments, default=""):
                return False
            continue
        facts = kept[name]
        if facts["link"] is None and kind_of(file) != REGULAR_FILE:
            return False
        if facts["copied"]:
            if not _begins_with(directory / UNDO / name, file):
                return False
        elif name == max(segments) or _is_same(file, directory / UNDO / name):
            # What is appended goes to the last segment; one that has another in its place was cleaned.
            if not _is_unchanged(file, facts):
                return False
    return True


def _is_whole(directory: Path, kept: Mapping[str, dict]) -> bool:
    """True if everything that the run kept of the partition is there as it was kept, and none of it is a link."""
    undo = directory / UNDO
    if not directory.is_dir() or not os.path.lexists(undo) or kind_of(undo) != DIRECTORY:
        return False
    for name, facts in kept.items():
        if facts["copied"]:
            if _crc(undo / name) != facts["crc"]:
                return False
        elif facts["link"] is None:
            if not os.path.lexists(undo / name) or kind_of(undo / name) != REGULAR_FILE:
                return False
            if (undo / name).stat().st_size != facts["size"]:
                return False
    return True


def _is_same(file: Path, other: Path) -> bool:
    return file.exists() and other.exists() and file.samefile(other)


def _is_unchanged(file: Path, facts: Mapping) -> bool:
    status = file.stat()
    return (status.st_size, status.st_mtime_ns) == (facts["size"], facts["changed"])


def _others_have_noted(log_dir: Path, beside: Mapping[str, str | None], partitions: Mapping[str, Mapping]) -> bool:
    """Whether a checkpoint says something of the run's partitions that it neither said before nor got from the run."""
    may_be_noted: dict[tuple[str, TopicPartition], set[int]] = {}
    for directory, told in partitions.items():
        for name, offset in told["noted"].items():
            may_be_noted.setdefault((name, parse_topic_partition_name(log_dir / directory)), set()).add(offset)
    ours = {parse_topic_partition_name(log_dir / directory) for directory in partitions}
    for name in CHECKPOINTS:
        told_before, told_now = _lines_of(beside[name]), _lines_of(_content(log_dir / name))
        for partition in ours & told_now.keys():
            line = told_now[partition]
            expected = {
                f"{partition.topic} {partition.partition} {at}" for at in may_be_noted.get((name, partition), ())
            }
            if line not in expected | {told_before.get(partition)}:
                return True
    return False


def _crc(file: Path) -> int | None:
    """The CRC-32C of a regular file; None for anything else."""
    if file.is_symlink() or not file.is_file():
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
    """Make the directory's files what they were; what is kept stays, so that this can be interrupted, too.

    What the run has made goes last: until then, a start of Kafka finds no gap.
    """
    undo = directory / UNDO
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
    for entry in sorted(directory.iterdir()):
        if entry.name not in kept and _may_change(entry) and (entry.is_symlink() or not entry.is_dir()):
            file_ops.delete_if_exists(entry)
    file_ops.flush_dir(directory)


def _has_changed(log_dir: Path, since: int, *, but: Collection[str]) -> bool:
    """Whether anything in another partition's directory, or what only a broker notes, has changed since that time (ns),
    by a broker that was killed, say: then it would not be true that the last stop was clean.
    """
    high_watermarks = log_dir / HIGH_WATERMARK_CHECKPOINT_FILE
    if os.path.lexists(high_watermarks) and high_watermarks.lstat().st_mtime_ns > since:
        return True
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
