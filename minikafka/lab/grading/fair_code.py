"""What a function may use that is to be graded: the language, some modules, and its arguments.

It stands for a method of the engine or for a query, so it has no need of files, processes, frames, or of the course's
own modules. Code that plainly uses them is not run, and its learner reads why. This is a rule of the game and no wall:
whoever looks for a way around these names finds one. The wall is the sandbox, in which the code runs.
"""

import ast
from collections.abc import Iterable, Iterator

_MODULES = {
    *("bisect", "collections", "copy", "dataclasses", "datetime", "enum", "functools", "heapq", "itertools", "math"),
    *("operator", "re", "statistics", "string", "struct", "typing", "zlib", "crc32c", "numpy"),
    *("pyspark.sql.functions", "pyspark.sql.window", "pyspark.sql.types", "pyspark.sql"),
}
_ROOMS = ("common", "record", "checkpoint", "log", "metadata", "cluster", "server", "network", "broker")
_NAMES = {
    *("__builtins__", "__import__", "breakpoint", "compile", "delattr", "eval", "exec", "getattr", "globals", "help"),
    *("input", "locals", "open", "setattr", "vars"),
}
_ATTRIBUTES = {
    *("builtins", "ctypes", "gc", "importlib", "inspect", "io", "mmap", "os", "pathlib", "shutil", "signal", "socket"),
    *("subprocess", "sys", "threading", "solution", "solved_by", "sparkContext", "_jvm", "_jsparkSession"),
    *("f_back", "f_globals", "f_builtins", "gi_frame", "tb_frame", "modules"),
    *("write", "writeTo", "writeStream", "attrgetter", "methodcaller", "fromfile", "tofile", "memmap", "load", "save"),
}


def is_fair_import(statement: ast.stmt) -> bool:
    """Whether all that an import brings may be used."""
    if isinstance(statement, ast.ImportFrom):
        names = {alias.name for alias in statement.names}
        return statement.level == 0 and _is_fair_module(statement.module or "") and not names & (_NAMES | _ATTRIBUTES)
    return isinstance(statement, ast.Import) and all(_is_fair_module(alias.name) for alias in statement.names)


def unfair(code: Iterable[ast.stmt]) -> str:
    """The first thing in `code` that a graded function may not use, in words; "" where there is none."""
    return next((words for statement in code for words in _unfair(statement)), "")


def _is_fair_module(name: str) -> bool:
    first, _, rest = name.partition(".")
    return name in _MODULES or (first == "minikafka" and rest.partition(".")[0] in _ROOMS)


def _unfair(statement: ast.stmt) -> Iterator[str]:
    imported: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            if not is_fair_import(node):
                yield f"imports with `{ast.unparse(node)}`"
        elif isinstance(node, ast.Name) and node.id in _NAMES:
            yield f"uses `{node.id}`"
        elif isinstance(node, ast.Attribute) and (node.attr in _ATTRIBUTES or node.attr.startswith("__")):
            yield f"uses `.{node.attr}`"
    own = {each.arg for each in ast.walk(statement) if isinstance(each, ast.arg)}
    own |= {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            root = node.value
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if not isinstance(root, ast.Name) or root.id not in own - imported:
                yield f"changes `{ast.unparse(node)}`, which is not its own"
