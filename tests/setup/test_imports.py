"""What importing costs, and which way imports point."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import minikafka

PACKAGE = Path(minikafka.__file__).parent
HEAVY = {"pyspark", "py4j", "IPython", "ipykernel", "jupyter_core", "ipywidgets", "pandas", "pyarrow", "numba", "numpy"}
CORE = ("common", "record", "checkpoint", "log")
# Each room imports only itself and the rooms named before it, even inside a function. `spark` knows `tools`, whose work
# its jobs spread over a cluster. No room imports the package itself, whose names lead to any room.
ALLOWED = {room: set(CORE[: number + 1]) for number, room in enumerate(CORE)}
ALLOWED["messages"] = {"common", "messages"}
ALLOWED["network"] = {"common", "record", "messages", "network"}
ALLOWED["raft"] = {*CORE, "messages", "raft"}
ALLOWED["metadata"] = {*CORE, "messages", "metadata"}
ALLOWED["tools"] = {*ALLOWED["metadata"], "raft", "tools"}
ALLOWED["cluster"] = {*ALLOWED["metadata"], "cluster"}
ALLOWED["server"] = {*ALLOWED["cluster"], "network", "server"}
ALLOWED["broker"] = {*ALLOWED["server"], "raft", "broker"}
ALLOWED["testing"] = {*ALLOWED["broker"], "testing"}
ALLOWED["jvm"] = {"common", "jvm"}
ALLOWED["spark"] = {*ALLOWED["tools"], "jvm", "spark"}
ALLOWED["twins"] = {*ALLOWED["spark"], "twins"}
ALLOWED["witness"] = {*ALLOWED["broker"], "jvm", "spark", "witness"}
ALLOWED["lab"] = {*ALLOWED["witness"], "tools", "lab"}
ALLOWED["lessons"] = {*ALLOWED["lab"], "lessons"}
ALLOWED["cli"] = {*ALLOWED["lessons"], "twins", "cli", "minikafka"}
# The rooms of lab, from the bottom up.
LAB = (
    *("language", "stage", "widgets", "stepper", "sandbox", "exercises", "rebuild", "course", "grading", "site"),
    "teaching",
)
# Modules that import each other, inside functions: each makes the other, as in Kafka.
CIRCLES = [{"minikafka.record.format.memory_records", "minikafka.record.format.memory_records_builder"}]
# What a named tuple has by itself.
NAMES_OF_TUPLES = {"_asdict", "_fields", "_make", "_replace"}
# Planted bugs and answers of learners are methods of the classes that they are put into.
IN_PLACE_OF_METHODS = {"planted_bugs.py", "rungs.py"}
CODECS = {"crc32c", "cramjam", "pyzstd", "xxhash", "zstandard"}
BROKER = ("messages", "raft", "metadata", "cluster", "server", "network", "broker")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_minikafka_takes_less_than_a_fifth_of_a_second():
    code = "import time; t = time.perf_counter(); import minikafka; print(time.perf_counter() - t)"
    assert min(float(run(code)) for _ in range(3)) < 0.2


@pytest.mark.parametrize("module", ["minikafka", "minikafka.cli", "minikafka.common.errors"])
def test_importing_pulls_in_nothing_heavy(module):
    loaded = set(run(f"import sys, {module}; print(*(name.split('.')[0] for name in sys.modules))").split())
    assert not loaded & HEAVY


@pytest.mark.slow
def test_a_broker_is_ready_without_what_its_start_does_not_need(tmp_path):
    code = f"""
import sys
from pathlib import Path
import minikafka.cli.serve
from minikafka.broker.broker_server import BrokerServer
server = BrokerServer([Path({str(tmp_path / "data")!r})], {{"listeners": "PLAINTEXT://127.0.0.1:0"}})
server.start()
print(*(name.split(".")[0] for name in sys.modules))
server.stop()
"""
    needless = {*HEAVY, *CODECS, "rich", "asyncio", "multiprocessing", "xml", "http"}
    assert set(run(code).split()) & needless == {"crc32c"}


def modules_of(room: str) -> list[Path]:
    """Without the texts of lessons, which import what a user imports."""
    return sorted(path for path in (PACKAGE / room).rglob("*.py") if not path.name[0].isdigit())


@cache
def imported_by(path: Path) -> set[str]:
    """The full names of the modules that `path` imports, also in functions."""
    names = set()
    for node in seen_in(path).nodes:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written whole"
            package = PACKAGE.parent.joinpath(*node.module.split("."))
            inner = {alias.name for alias in node.names if is_module(package / alias.name)}
            names |= {f"{node.module}.{name}" for name in inner}
            names |= {node.module} if len(inner) < len(node.names) else set()
    return names


def is_module(path: Path) -> bool:
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def room_of(name: str) -> str:
    """The room of a module of minikafka; "minikafka" for the package itself."""
    return name.split(".")[1] if "." in name else name


def test_every_room_is_known():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ALLOWED)
    assert {path.parent.name for path in PACKAGE.glob("lab/*/__init__.py")} == set(LAB)


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_the_rooms_below_it(room):
    for path in modules_of(room):
        rooms = {room_of(name) for name in imported_by(path) if name.partition(".")[0] == "minikafka"}
        assert rooms <= ALLOWED[room], f"{path.relative_to(PACKAGE)} imports {rooms - ALLOWED[room]}"


def test_no_room_starts_a_module_above_it_by_its_name():
    for path, text in every(ast.Constant):
        room = path.relative_to(PACKAGE).parts[0]
        if room in ALLOWED and isinstance(text.value, str) and re.fullmatch(r"minikafka(\.\w+)+", text.value):
            named = room_of(text.value)
            assert named not in ALLOWED or named in ALLOWED[room], f"{path}:{text.lineno} names {text.value}"


@pytest.mark.parametrize("room", LAB)
def test_a_room_of_the_lab_imports_only_the_rooms_below_it(room):
    allowed = {"lesson_folders", *LAB[: LAB.index(room) + 1]}
    for path in modules_of(f"lab/{room}"):
        names = [name.split(".") for name in imported_by(path)]
        rooms = {name[2] for name in names if name[:2] == ["minikafka", "lab"] and len(name) > 2}
        assert rooms <= allowed, f"{path.relative_to(PACKAGE)} imports {rooms - allowed}"


def test_a_lesson_imports_no_other_lesson():
    for path in modules_of("lessons"):
        lesson = path.relative_to(PACKAGE / "lessons").parts[0]
        lessons = {name.split(".")[2] for name in imported_by(path) if name.startswith("minikafka.lessons.")}
        assert lessons <= {lesson}, f"{path.relative_to(PACKAGE)} imports {lessons - {lesson}}"


def test_no_module_imports_a_private_name_of_another():
    for path, name in every(ast.ImportFrom):
        private = [alias.name for alias in name.names if is_private(alias.name)]
        assert not private or name.module.split(".")[0] != "minikafka", f"{path}:{name.lineno} imports {private}"


def test_no_module_uses_private_names_of_another():
    """But for what takes the place of a method for a while, and does as that method would."""
    all_names = set().union(*(seen_in(path).private_names for path in PACKAGE.rglob("*.py"))) - NAMES_OF_TUPLES
    for path, used in every(ast.Attribute):
        of_itself = isinstance(used.value, ast.Name) and used.value.id in ("self", "cls")
        of_another = used.attr in all_names and used.attr not in seen_in(path).private_names
        if of_another and not of_itself and path.name not in IN_PLACE_OF_METHODS:
            pytest.fail(f"{path.relative_to(PACKAGE)}:{used.lineno} uses {ast.unparse(used)}")


def every(kind: type) -> Iterator[tuple[Path, Any]]:
    """Each node of this kind that the tests here look at in the package's modules, with its file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield from ((path, node) for node in seen_in(path).nodes if isinstance(node, kind))


class Seen(NamedTuple):
    """Of a module the `nodes` that the tests here look at: imports, texts and private attributes; and the
    `private_names` that it defines or assigns to: of functions, classes, attributes, variables.
    """

    nodes: list[ast.AST]
    private_names: set[str]


@cache
def seen_in(path: Path) -> Seen:
    """Read once for all tests: to walk through all modules takes seconds."""
    seen = Seen([], set())
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Constant(value=str()):
                seen.nodes.append(node)
            case ast.Attribute(attr=name) if is_private(name):
                seen.nodes.append(node)
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if is_private(name):
                seen.private_names.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()) if is_private(name):
                seen.private_names.add(name)
    return seen


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_no_modules_import_each_other():
    """Nor in a longer circle, nor inside of functions: what is there can be read from the bottom up."""
    imports = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        imports[name] = {other for other in imported_by(path) if other.startswith("minikafka.")}
    circles = []
    while imports:
        leaves = [name for name, others in imports.items() if not others & imports.keys()]
        if not leaves:
            circles = [name for name in imports if name in reached_from(name, imports)]
            break
        for name in leaves:
            del imports[name]
    known = set().union(*CIRCLES)
    assert set(circles) == known, f"import each other: {sorted(set(circles) ^ known)}"


def reached_from(name: str, imports: dict[str, set[str]]) -> set[str]:
    reached, waiting = set(), [name]
    while waiting:
        new = imports.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached


@pytest.mark.parametrize("room", CORE)
def test_the_core_needs_only_the_standard_library_and_the_codecs_at_import_time(room):
    """All modules of the room are imported, but for the compiled kernel, which is imported on the first large input."""
    foreign = imported_with(room) - sys.stdlib_module_names - CODECS - {"minikafka", "_cffi_backend", "cffi"}
    assert not foreign


@pytest.mark.slow
@pytest.mark.parametrize("room", BROKER)
def test_the_rooms_of_the_broker_need_neither_spark_nor_jupyter(room):
    assert not imported_with(room) & (HEAVY - {"numpy"})


def imported_with(room: str) -> set[str]:
    """The packages that are loaded when every module of `room` is imported, but for the compiled kernels."""
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in modules_of(room)]
    names = [name for name in names if not name.rpartition(".")[2].startswith("compiled_")]
    code = "import sys; before = set(sys.modules)\n"
    code += "".join(f"import {name.removesuffix('.__init__')}\n" for name in names)
    code += "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    return set(run(code).split())


# In backquotes in the head of a room, and no module of it: commands, functions, tables, files of elsewhere.
NO_MODULES = set("bugs grade index minikafka predict ranges render say segments site verify write_log_dir".split())


def test_the_head_of_a_room_names_modules_that_are_there():
    """After a move, a head that sends its reader to where nothing is any more misleads most."""
    for head in sorted(PACKAGE.rglob("__init__.py")):
        told = ast.get_docstring(ast.parse(head.read_text(encoding="utf-8"))) or ""
        for word in set(re.findall(r"(?<!`)`([a-z][a-z_0-9.]*)/?(?:\(\))?`", told)) - NO_MODULES:
            path = word.removeprefix("minikafka.").replace(".", "/")
            places = (PACKAGE / path, PACKAGE / f"{path}.py", PACKAGE.parent / word)
            found = [*head.parent.rglob(f"{path}.py"), *head.parent.rglob(word), *filter(Path.exists, places)]
            found += PACKAGE.rglob(word) if word.endswith((".py", ".toml")) else []
            assert found, f"{head.relative_to(PACKAGE.parent)} names {word}, which is not there"
