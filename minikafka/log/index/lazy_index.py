"""An index that is opened, or made, by the first use of it."""

import threading
from pathlib import Path
from typing import Generic, TypeVar

from minikafka.common import file_ops
from minikafka.log.index.abstract_index import AbstractIndex

T = TypeVar("T", bound=AbstractIndex)


class LazyIndex(Generic[T]):
    """Stands for an index file until somebody needs its contents.

    A log with thousands of segments opens quickly because the indexes of old segments stay closed. The disk shows it: a
    new segment has no index files before the first use, an untouched index is neither trimmed nor mended by closing,
    and merely looking at a segment whose index is missing makes one of full size.

    Kafka: `LazyIndex`.
    """

    __slots__ = ("_index_class", "_file", "_base_offset", "_max_index_size", "_index", "_lock")

    def __init__(self, index_class: type[T], file: Path, base_offset: int, max_index_size: int):
        self._index_class = index_class
        self._file = file
        self._base_offset = base_offset
        self._max_index_size = max_index_size
        self._index: T | None = None
        self._lock = threading.Lock()

    @property
    def file(self) -> Path:
        """The file's name, opened or not. Kafka: `LazyIndex.file`."""
        index = self._index
        return self._file if index is None else index.file

    def get(self) -> T:
        """The index, opened (or created) now if it was not. Raises as its class does. Kafka: `LazyIndex.get`."""
        index = self._index
        return index if index is not None else self._load()

    def update_parent_dir(self, parent_dir: Path) -> None:
        """Follow a renamed log directory. Kafka: `LazyIndex.updateParentDir`."""
        with self._lock:
            if self._index is None:
                self._file = parent_dir / self._file.name
            else:
                self._index.update_parent_dir(parent_dir)

    def rename_to(self, file: Path) -> None:
        """Rename the file; one that was never opened may be missing. Raises OSError. Kafka: `LazyIndex.renameTo`."""
        with self._lock:
            if self._index is not None:
                self._index.rename_to(file)
                return
            try:
                file_ops.atomic_move_with_fallback(self._file, file, need_flush_parent_dir=False)
            except FileNotFoundError:
                if self._file.exists():
                    raise
            finally:
                self._file = file

    def delete_if_exists(self) -> bool:
        """Close the index if it is open and delete the file; False if there was none. Kafka: `deleteIfExists`."""
        with self._lock:
            return file_ops.delete_if_exists(self._file) if self._index is None else self._index.delete_if_exists()

    def flush(self) -> None:
        """Force the entries down to the device, of an index that is not open too. Kafka: `OffsetIndex.flush`."""
        with self._lock:
            if self._index is None and self._file.exists():
                file_ops.flush_file_if_exists(self._file)
                return
        self.get().flush()

    def let_go(self) -> None:
        """Close an index that is trimmed to its entries, until the next use opens it again.

        Where Kafka keeps all that recovery has made: a mapping of Python's holds a descriptor (up to 3.12), and a log
        of thousands of segments would run out of them.
        """
        with self._lock:
            if self._index is not None:
                self._file = self._index.file
                self._index.close_handler()
                self._index = None

    def close(self) -> None:
        """Trim and close the index if it was opened. Kafka: `LazyIndex.close`."""
        with self._lock:
            if self._index is not None:
                self._index.close()

    def close_handler(self) -> None:
        """Close the index if it was opened and leave its file alone. Kafka: `LazyIndex.closeHandler`."""
        with self._lock:
            if self._index is not None:
                self._index.close_handler()

    def _load(self) -> T:
        with self._lock:
            if self._index is None:
                self._index = self._index_class(self._file, self._base_offset, self._max_index_size)
            return self._index
