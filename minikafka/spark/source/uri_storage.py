"""Files behind a URI, through `pyarrow.fs`: ranges of them are read, and only small files as a whole.

`s3`, `s3a`, `s3n`, `gs` and `gcs` take settings, by the names that `pyarrow.fs.S3FileSystem` and `GcsFileSystem` give
them, or by those of Hadoop's `s3a`; what is not set comes from where the store's own tools have it (environment,
profile, instance). Other schemes that pyarrow knows (`hdfs`, `abfs`, …) are opened as it opens them, without settings.
"""

import fnmatch
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from minikafka.common.errors import IllegalArgumentException, IOException
from minikafka.spark.source.damage import DAMAGE
from minikafka.spark.source.partition_names import base_offset_of
from minikafka.spark.source.storage import Entry, StoredFile, as_python, joined

_URI = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://(?:([^/@]*)@)?([^/]*)(.*)", re.DOTALL)
_WITH_SETTINGS = {
    "s3": fs.S3FileSystem, "s3a": fs.S3FileSystem, "s3n": fs.S3FileSystem,
    "gs": getattr(fs, "GcsFileSystem", None), "gcs": getattr(fs, "GcsFileSystem", None),
}  # fmt: skip
_HADOOP_NAMES = {
    "s3a.access.key": "access_key",
    "s3a.secret.key": "secret_key",
    "s3a.session.token": "session_token",
    "s3a.endpoint": "endpoint_override",
    "s3a.endpoint.region": "region",
}
_NUMBERS = ("connect_timeout", "request_timeout")
_REQUEST = re.compile(r"\s*\(Request ID: [^)]*\)")
_SMALLEST_WINDOW = 32 << 10
_LARGEST_WINDOW = 8 << 20
_LARGEST_COPY = 64 << 20


def uri_storage_of(uri: str, settings: Mapping[str, str]) -> tuple["UriStorage", str]:
    """The storage of a URI, and the URI without what is secret in it: `s3://key:secret@bucket/…` names both.

    Raises IllegalArgumentException for a scheme or a setting that there is not.
    """
    matched = _URI.fullmatch(uri)
    if matched is None:
        raise IllegalArgumentException(f"{uri} is no URI")
    scheme, user, authority, path = matched[1].lower(), matched[2], matched[3], matched[4]
    chosen = {_HADOOP_NAMES.get(name, name): text for name, text in settings.items()}
    if scheme not in _WITH_SETTINGS:
        authority = authority if user is None else f"{user}@{authority}"
        chosen = {}
    elif user is not None:
        access_key, _, secret_key = user.partition(":")
        chosen |= {"access_key": unquote(access_key), "secret_key": unquote(secret_key)}
    if "://" in chosen.get("endpoint_override", ""):
        chosen["scheme"], _, chosen["endpoint_override"] = chosen["endpoint_override"].partition("://")
    storage = UriStorage(scheme, authority, tuple(sorted(chosen.items())))
    storage.connect()
    return storage, storage.root + path.rstrip("/")


@dataclass(frozen=True)
class UriStorage:
    """What lies behind one scheme and authority: a bucket, for instance. See `Storage`."""

    scheme: str
    authority: str
    settings: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return self.root  # settings are secret

    @property
    def root(self) -> str:
        """The beginning of all URIs."""
        return f"{self.scheme}://{self.authority}"

    @property
    def is_local(self) -> bool:
        """They are not: each read may be a request."""
        return False

    def connect(self) -> "tuple[fs.FileSystem, str]":
        """The file system, and its path of the root. Raises IllegalArgumentException."""
        return _connected(self.scheme, self.authority, self.settings)

    def expanded(self, path: str) -> list[str]:
        """A name in the path may have `*`, `?` and `[…]`, as in `glob`."""
        if not any(mark in path for mark in "*?["):
            if self._exists(path):
                return [path]
            if not self._exists(self.root):
                raise FileNotFoundError(f"{path}: {self.root} does not exist")
            return []
        found = [self.root]
        for name in path.removeprefix(self.root).strip("/").split("/"):
            found = [each for directory in found for each in self._matching(directory, name)]
        return found

    def is_directory(self, path: str) -> bool:
        """Whether any file lies below the path."""
        with _told(path):
            return bool(self._info(path).type == fs.FileType.Directory)

    def entries(self, directory: str) -> list[Entry]:
        """What lies below the directory, one name deep."""
        return sorted(Entry(info.base_name, info.type == fs.FileType.Directory) for info in self._below(directory))

    def segment_files(self, directory: str) -> dict[int, StoredFile]:
        """The files, found by a single listing."""
        found: dict[int, StoredFile] = {}
        for info in self._below(directory):
            base_offset = base_offset_of(info.base_name)
            if base_offset is not None and info.type == fs.FileType.File:
                # Tiered storage may have a segment twice, from two leaders.
                if base_offset not in found or found[base_offset].size < info.size:
                    found[base_offset] = _stored(joined(directory, info.base_name), info)
        return found

    def open(self, file: StoredFile) -> "UriFile":
        """The file, of which nothing is read yet."""
        try:
            now = self._look(file.path)
        except FileNotFoundError:
            now = None
        if now != file:
            raise FileNotFoundError(f"{file.path} was deleted or replaced after the query was planned")
        return self._opened(file)

    def open_now(self, path: str) -> tuple["UriFile", int]:
        """The file that has the path now."""
        file = self._look(path)
        return self._opened(file), file.size

    @contextmanager
    def on_disk(self, path: str) -> Iterator[Path]:
        """A copy below the directory for temporary files; what is wrong with it is told with the file's URI."""
        opened, size = self.open_now(path)
        try:
            if size > _LARGEST_COPY:
                raise IOException(f"{path} has {size} bytes, too many for a file of its kind")
            data = opened.read(0, size)
        finally:
            opened.close()
        with tempfile.TemporaryDirectory(prefix="minikafka-") as directory:
            copy = Path(directory) / os.path.basename(path)
            copy.write_bytes(data)
            try:
                yield copy
            except DAMAGE as error:
                error.args = tuple(
                    each.replace(str(copy), path) if isinstance(each, str) else each for each in error.args
                )
                raise

    def _look(self, path: str) -> StoredFile:
        """The file as it is now; the time of its last change tells it from another."""
        with _told(path):
            info = self._info(path)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(f"{path} does not exist")
        if info.type != fs.FileType.File:
            raise IOException(f"{path} is a directory, not a regular file")
        return _stored(path, info)

    def _opened(self, file: StoredFile) -> "UriFile":
        file_system, _ = self.connect()
        with _told(file.path):
            return UriFile(file_system.open_input_file(self._inner(file.path)), file)

    def _exists(self, path: str) -> bool:
        with _told(path):
            return bool(self._info(path).type != fs.FileType.NotFound)

    def _matching(self, directory: str, name: str) -> list[str]:
        """The paths in `directory` that the name, which may be a pattern, stands for."""
        try:
            names = [entry.name for entry in self.entries(directory)]
        except FileNotFoundError:
            return []
        pattern = as_python(name)
        return [joined(directory, each) for each in names if fnmatch.fnmatchcase(each, pattern)]

    def _below(self, directory: str) -> list[fs.FileInfo]:
        file_system, _ = self.connect()
        with _told(directory):
            return list(file_system.get_file_info(fs.FileSelector(self._inner(directory))))

    def _info(self, path: str) -> fs.FileInfo:
        file_system, _ = self.connect()
        return file_system.get_file_info(self._inner(path))

    def _inner(self, path: str) -> str:
        """The file system's own path."""
        return self.connect()[1] + path.removeprefix(self.root)


class UriFile:
    """An open file behind a URI; small reads that follow each other are served out of a window that was read at once.

    The window grows while reads go forward, so that a walk over headers takes few requests, and a look at one batch
    few bytes.
    """

    def __init__(self, file: pa.NativeFile, stored: StoredFile):
        self._file = file
        self._stored = stored
        self._window = b""
        self._window_start = 0
        self._window_size = _SMALLEST_WINDOW

    def read(self, position: int, size: int) -> bytes:
        """At most `size` bytes from `position` on; fewer where the file ends."""
        size = max(0, min(size, self._stored.size - position))
        at = position - self._window_start
        if at >= 0 and at + size <= len(self._window):
            return self._window[at : at + size]
        if size >= _LARGEST_WINDOW:
            return self._request(position, size)
        is_forward = 0 <= at < 2 * len(self._window)
        self._window_size = min(2 * self._window_size, _LARGEST_WINDOW) if is_forward else _SMALLEST_WINDOW
        self._window, self._window_start = self._request(position, max(size, self._window_size)), position
        return self._window[:size]

    def read_into(self, buffer: bytearray | memoryview, position: int) -> int:
        """Fill `buffer` from `position` on; returns how many bytes the file had."""
        data = self.read(position, len(buffer))
        memoryview(buffer)[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def _request(self, position: int, size: int) -> bytes:
        with _told(self._stored.path):
            data: bytes = self._file.read_at(size, position)
            return data


@lru_cache(maxsize=64)
def _connected(scheme: str, authority: str, settings: tuple[tuple[str, str], ...]) -> "tuple[fs.FileSystem, str]":
    kind = _WITH_SETTINGS.get(scheme)
    if kind is None:
        try:
            file_system, inner = fs.FileSystem.from_uri(f"{scheme}://{authority}/")
        except (ValueError, OSError, pa.ArrowException) as error:
            raise IllegalArgumentException(f"{scheme}://{authority}: {_line(error)}") from None
        return file_system, inner.rstrip("/")
    try:
        return kind(**{name: _setting(name, text) for name, text in settings}), authority
    except TypeError:
        named = ", ".join(f"fs.{name}" for name, _ in settings)
        raise IllegalArgumentException(
            f"Of {named} there is one that {kind.__name__} does not know (pyarrow.fs says which there are)"
        ) from None
    except (ValueError, OSError, pa.ArrowException) as error:
        raise IllegalArgumentException(f"{scheme}://{authority}: {_line(error)}") from None


def _setting(name: str, text: str) -> object:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if name in _NUMBERS:
        try:
            return float(text)
        except ValueError:
            raise IllegalArgumentException(f"fs.{name}={text} is no number of seconds") from None
    return text


def _stored(path: str, info: fs.FileInfo) -> StoredFile:
    return StoredFile(path, info.size, info.mtime_ns or 0)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Errors of the store as one line with the path."""
    try:
        yield
    except FileNotFoundError as error:
        if path in str(error):
            raise
        raise FileNotFoundError(f"{path} does not exist") from None
    except (OSError, pa.ArrowException) as error:
        raise IOException(f"{path}: {_line(error)}") from None


def _line(error: Exception) -> str:
    """What the store says, without what it is asked for, which we know better, and the request's number."""
    text = _REQUEST.sub("", " ".join(str(error).split()))
    return text[text.index("AWS Error") :] if "AWS Error" in text else text
