"""A directory of Kafka's as files of this machine's disk, for what reads files there, such as `minikafka verify`."""

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from minikafka.spark.source.storage import Storage, joined
from minikafka.spark.source.storage_of import storage_of
from minikafka.tools.log_dir_entries import has_name_of_partition
from minikafka.tools.scratch_directory import scratch_directory
from minikafka.tools.verify.log_dir_files import is_looked_at

_AT_A_TIME = 8 << 20


class DirectoryOnDisk:
    """A context, which gives the path of the directory: where it lies on a disk, that; otherwise that of a copy.

    A partition's directory is copied whole, and beside it the files of its log directory. Of a log directory these
    files are copied, and of the partitions in it only the names of their files, which are empty. The copy goes away
    with the context. Entering it raises OSError for what cannot be read, and IllegalArgumentException for a URI without
    meaning. `settings` are those of `storage_of`.
    """

    def __init__(self, directory: str, settings: Mapping[str, str], *, is_partition: bool):
        self._directory = directory
        self._settings = settings
        self._is_partition = is_partition
        self._cleanup = ExitStack()
        self._copies: tuple[tuple[str, str], ...] = ()

    def __enter__(self) -> Path:
        if "://" not in self._directory:
            return Path(self._directory)
        storage, uri = storage_of(self._directory, self._settings)
        if not storage.is_directory(uri):
            raise FileNotFoundError(2, "no such directory", uri)
        with ExitStack() as until_whole:
            scratch = until_whole.enter_context(scratch_directory("minikafka-copy-"))
            log_dir_uri, _, name = uri.rpartition("/")
            if self._is_partition:
                copy = scratch / "log-dir" / name
                copy.mkdir(parents=True)
                self._copies = (str(copy), uri), (str(copy.parent), log_dir_uri)
                _copy_files_of_log_dir(storage, log_dir_uri, copy.parent)
                _copy_all_files(storage, uri, copy)
            else:
                copy = scratch / name
                copy.mkdir()
                self._copies = ((str(copy), uri),)
                _copy_files_of_log_dir(storage, uri, copy)
                _copy_names(storage, uri, copy)
            self._cleanup = until_whole.pop_all()
        return copy

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def named(self, text: str) -> str:
        """`text` with the directory's own name in the place of the copy's."""
        for copy, original in self._copies:
            text = text.replace(copy, original)
        return text


def _copy_files_of_log_dir(storage: Storage, uri: str, to: Path) -> None:
    for entry in storage.entries(uri):
        if not entry.is_directory and (entry.name == CLEAN_SHUTDOWN_FILE_NAME or is_looked_at(entry.name)):
            with storage.on_disk(joined(uri, entry.name)) as file:
                shutil.copyfile(file, to / entry.name)


def _copy_all_files(storage: Storage, uri: str, to: Path) -> None:
    for entry in storage.entries(uri):
        if entry.is_directory:
            (to / entry.name).mkdir()
            continue
        opened, size = storage.open_now(joined(uri, entry.name))
        try:
            with open(to / entry.name, "wb") as copy:
                for position in range(0, size, _AT_A_TIME):
                    copy.write(opened.read(position, _AT_A_TIME))
        finally:
            opened.close()


def _copy_names(storage: Storage, uri: str, to: Path) -> None:
    """Empty files by the names of those that are not there yet, also in directories of partitions."""
    for entry in storage.entries(uri):
        copy = to / entry.name
        if not entry.is_directory:
            copy.touch()
            continue
        copy.mkdir()
        for file in storage.entries(joined(uri, entry.name)) if has_name_of_partition(copy) else ():
            (copy / file.name).touch()
