"""Which partitions `minikafka verify` looks at in a directory, and what lies beside them and concerns them."""

import os
import resource
from collections.abc import Callable, Iterable
from pathlib import Path

from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import FUTURE_DIR_SUFFIX
from minikafka.tools.failure import describe
from minikafka.tools.interrupted_work import interrupted_work
from minikafka.tools.log_dir_entries import (
    PUT_ASIDE,
    STRAY,
    duplicates,
    duplicates_beside,
    has_name_of_partition,
    is_mark_of_write,
    is_stray,
    may_be_partition,
    neither,
    second_directory,
    what_it_stands_for,
)
from minikafka.tools.verify.findings import NO_START, Finding
from minikafka.tools.verify.log_dir_files import report_interrupted, verify_files_of_log_dir


def partitions_of(directory: Path, report: Callable[[Finding], None], unread: Callable[[str], None]) -> list[Path]:
    """The partition directories that `directory` stands for: itself, or all those of a log directory, or those to which
    the links in a directory lead (`what_it_stands_for`).

    The files of a log directory itself are checked. Raises OSError, and IllegalArgumentException for neither of both.
    """
    if not directory.is_dir():
        raise FileNotFoundError(2, "no such directory", str(directory))
    if has_name_of_partition(directory) and _is_partition(directory):
        return [directory]
    verify_files_of_log_dir(directory, report, unread)
    partitions, named, strays = [], [], []
    for name in sorted(os.listdir(directory)):
        path = directory / name
        try:
            if may_be_partition(path):
                named.append(path)
                if _is_partition(path):
                    partitions.append(path)
            elif is_stray(path):
                strays.append(path)
        except OSError as error:
            unread(describe(error))
    _report_second(duplicates(named), report)
    if (directory / CLUSTER_METADATA_DIRECTORY).is_dir():
        _report_second(_moved_within(named), report)
    is_written = any(is_mark_of_write(path.name) for path in directory.iterdir())
    if not partitions and not is_written and not (directory / META_PROPERTIES_NAME).exists():
        raise neither(directory)
    for path in strays:
        report(Finding(path, None, None, STRAY, *NO_START))
    return list(map(what_it_stands_for, partitions))


def report_beside(partitions: Iterable[Path], report: Callable[[Finding], None], unread: Callable[[str], None]) -> None:
    """Report what lies beside these partition directories, which were given one by one, and concerns them: another
    directory of the same partition, and a mark of work that is half done.
    """
    partitions = list(partitions)
    _report_second(duplicates_beside(partitions), report)
    for log_dir in sorted({Path(os.path.abspath(partition)).parent for partition in partitions}):
        beside = [each for partition in partitions if (each := Path(os.path.abspath(partition))).parent == log_dir]
        found = interrupted_work(log_dir, unread)
        report_interrupted((work for work in found if any(map(work.concerns, beside))), report)


def _report_second(found: dict[Path, Path], report: Callable[[Finding], None]) -> None:
    for path, first in found.items():
        report(Finding(path, None, None, second_directory(first), *NO_START))


def _moved_within(directories: Iterable[Path]) -> dict[Path, Path]:
    """Future logs beside the current ones, which belong into another log directory; each with the current one.

    Kafka: `LogManager.recoverAbandonedFutureLogs`, which takes such a log for the current one, and finds that there.
    """
    named = [(parse_topic_partition_name(each), each) for each in directories if not each.name.endswith(PUT_ASIDE)]
    current = {name: each for name, each in named if not each.name.endswith(FUTURE_DIR_SUFFIX)}
    return {each: current[name] for name, each in named if name in current and each is not current[name]}


def _is_partition(directory: Path) -> bool:
    """True if it contains a file of a partition, or cannot be listed."""
    try:
        names = os.listdir(directory)
    except PermissionError:
        return True
    return any(name.endswith((".log", ".swap", ".deleted")) or name == "partition.metadata" for name in names)


def allow_many_open_files() -> None:
    """Raise the limit of open files: a load holds every segment open, maybe more than the soft limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
