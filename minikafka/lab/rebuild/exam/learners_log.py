"""Takes in the file with a learner's log: the standard library and crc32c alone, and a class `MyLog`."""

import ast
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

from minikafka.common.errors import IllegalArgumentException
from minikafka.lab.rebuild.learners_code import Guard

ALLOWED = frozenset(sys.stdlib_module_names) | {"crc32c"}
PARAMETERS = {
    "__init__": ["self", "directory", "settings", "clean"],
    "append": ["self", "batch", "leader_epoch"],
    "roll": ["self"],
    "read": ["self", "offset", "max_bytes"],
    "close": ["self"],
}
"""The methods of `MyLog` and their parameters, as in the template `my_log.py`."""


def load(file: Path) -> type:
    """The class `MyLog` of the file.

    Raises OSError, and IllegalArgumentException in one line when the file is no such log: a syntax error, a foreign
    import, an error while it is imported, no class, a method or a parameter missing.
    """
    source = file.read_bytes()
    try:
        tree = ast.parse(source, str(file))
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise IllegalArgumentException(f"{file}{line} is no Python: {error.msg}") from None
    except ValueError as error:
        raise IllegalArgumentException(f"{file} is no Python: {error}") from None
    _require_allowed_imports(tree, file)
    spec = importlib.util.spec_from_file_location("my_log", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise IllegalArgumentException(f"{file} cannot be imported: {type(error).__name__}: {error}") from None
    found = getattr(module, "MyLog", None)
    if not inspect.isclass(found):
        raise IllegalArgumentException(f"{file} has no class MyLog")
    for name, wanted in PARAMETERS.items():
        method = getattr(found, name, None)
        given = list(inspect.signature(method).parameters) if inspect.isfunction(method) else None
        if given != wanted:
            has = "is missing" if given is None else f"takes ({', '.join(given)})"
            raise IllegalArgumentException(f"{file}: MyLog.{name} {has}; it must take ({', '.join(wanted)})")
    return found


class LearnersLog:
    """A learner's log whose errors are told as such, and whose calls all end.

    Its methods are those of `MyLog`; each raises LearnersError for whatever the learner's code raises, for a result of
    another type, and after some seconds. `method` names the one that was called last.
    """

    def __init__(self, kind: type, guard_s: float):
        self._kind, self._guard_s = kind, guard_s
        self._log: Any = None
        self._killed: list[Any] = []
        self.method = ""

    def open(self, directory: Path, settings: dict[str, int], *, clean: bool) -> None:
        """Open the log, or open it again; `clean`: whether it was closed before."""
        self._log = self._kind.__new__(self._kind)
        self._held(self._log.__init__, ())(str(directory), dict(settings), clean)

    def append(self, batch: bytes, leader_epoch: int) -> int:
        """Append a batch as a producer sent it; the offset of its first record."""
        return self._held(self._log.append, (int,))(batch, leader_epoch)

    def roll(self) -> None:
        """Begin a new segment."""
        self._held(self._log.roll, ())()

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Bytes from the batch that holds `offset` on."""
        return self._held(self._log.read, (bytes,))(offset, max_bytes)

    def close(self) -> None:
        """Close the log."""
        self._held(self._log.close, ())()

    def kill(self) -> None:
        """Let go of the log as it stands, without closing it.

        It is kept as long as this object: Python closes a file that nobody holds, and that would write what a process
        that is killed loses, the bytes in the file's buffer.
        """
        self._killed.append(self._log)
        self._log = None

    def _held(self, method: Any, returns: tuple[type, ...]) -> Any:
        self.method = f"MyLog.{method.__name__}"
        return Guard(returns, limit_s=self._guard_s).around(method)


def _require_allowed_imports(tree: ast.AST, file: Path) -> None:
    for node in ast.walk(tree):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""] if not node.level else ["."]
        for name in names:
            if name.partition(".")[0] not in ALLOWED:
                raise IllegalArgumentException(
                    f"{file}, line {node.lineno}: import {name}: only the standard library and crc32c are allowed"
                )
