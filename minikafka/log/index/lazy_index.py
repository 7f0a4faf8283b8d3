"""An index that its first use opens or makes."""

import threading
from pathlib import Path
from typing import Generic, TypeVar

from minikafka.common import file_ops
from minikafka.log.index.abstract_index import AbstractIndex

T = TypeVar("T", bound=AbstractIndex)


class LazyIndex(Generic[T]):
    """Represents an index file until its contents are needed.

    A log with thousands of segments opens quickly because the indexes of old segments stay closed. The disk shows it: a
    new segment has no index files before the first use, closing neither trims nor repairs an unused index, and merely
    looking at a segment without an index makes one of full size.

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
        """The path of the file, whether the index is open or not. Kafka: `LazyIndex.file`."""
        index = self._index
        return self._file if index is None else index.file

    def get(self) -> T:
        """The index, which the first call opens or makes. Raises what its class raises. Kafka: `LazyIndex.get`."""
        index = self._index
        return index if index is not None else self._load()

    def update_parent_dir(self, parent_dir: Path) -> None:
        """Note that the partition's directory was renamed. Kafka: `LazyIndex.updateParentDir`."""
        with self._lock:
            if self._index is None:
                self._file = parent_dir / self._file.name
            else:
                self._index.update_parent_dir(parent_dir)

    def rename_to(self, file: Path) -> None:
        """Rename the file, which may be missing if it was never opened. Raises OSError. Kafka: `LazyIndex.renameTo`."""
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
        """Force the entries to the device, even if the index is not open. Kafka: `OffsetIndex.flush`."""
        with self._lock:
            if self._index is None and self._file.exists():
                file_ops.flush_file_if_exists(self._file)
                return
        self.get().flush()

    def let_go(self) -> None:
        """Close an index that is trimmed to its entries; the next use opens it again.

        Kafka keeps all indexes open that recovery has made. Up to Python 3.12 a mapping holds a descriptor, and a log
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
