"""An archive of the classes that Spark and Kafka load (Java's class data sharing): with it, Spark's JVM starts in half
the time.

An archive fits one Java and one class path, which a text file beside it names. Where it is missing, Java starts without
it.
"""

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from minikafka.common.draft_file import draft_of
from minikafka.jvm.cache import cache_dir, scratch_in_cache

_KEPT = 3
"""How many archives the cache holds, of 150 MB each: one for each environment that was last set up."""
_LEAST_ROOM = 1 << 20
"""Bytes that are free, at least, on a disk that had room for all that Java wrote."""


def java_option(java_home: Path, jars: list[str]) -> str:
    """The option that gives Java the archive for these jars; empty when there is none."""
    archive = _archive(_label(java_home, jars))
    return f"-XX:SharedArchiveFile={archive}" if archive.exists() else ""


def was_made(java_home: Path, jars: list[str]) -> bool:
    """Whether `make` was called for this Java and these jars, even if this Java can write no archive."""
    return _archive(_label(java_home, jars)).with_suffix(".txt").exists()


def make(java_home: Path, jars: list[str], training: str) -> bool:
    """Let a run of Spark write the archive when its Java ends (half a minute); returns False when it wrote none.

    `training`: the module to run, which takes the archive's path and gives it to Java (`-XX:ArchiveClassesAtExit`).

    A Java without an archive of its own classes, such as the wheel's, can write none, and that is remembered. Only the
    last few archives are kept. Raises OSError where the disk has no room.
    """
    label = _label(java_home, jars)
    archive = _archive(label)
    with scratch_in_cache() as directory:
        new = directory / "new.jsa"
        subprocess.run([sys.executable, "-P", "-m", training, str(new)], capture_output=True, check=False)
        made = new.exists()
        free = shutil.disk_usage(directory).free
        if free < _LEAST_ROOM:  # what Java has written is cut off
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(archive))
        if made:
            os.replace(new, archive)
        else:
            archive.unlink(missing_ok=True)
    with draft_of(archive.with_suffix(".txt")) as draft:
        draft.write(label.encode())
    labels = sorted(cache_dir().glob("spark-classes-*.txt"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in labels[_KEPT:]:
        old.unlink(missing_ok=True)
        old.with_suffix(".jsa").unlink(missing_ok=True)
    return made


def _archive(label: str) -> Path:
    return cache_dir() / f"spark-classes-{hashlib.sha256(label.encode()).hexdigest()[:12]}.jsa"


def _label(java_home: Path, jars: list[str]) -> str:
    release = java_home / "release"
    java = release.read_text(encoding="utf-8") if release.exists() else ""
    return "\n".join([str(java_home), java, *jars])
