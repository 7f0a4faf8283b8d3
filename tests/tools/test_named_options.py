"""A message that names an option is only told by a command that has it."""

import ast
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from minikafka.cli import COMMANDS, main
from minikafka.tools.recover.undo import UNDO
from tests.golden.places import GOLDEN

ROOT = Path(__file__).parents[2]
LAST_LOG = f"{68:020d}.log"
NAMED = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
OF_JAVA = {"--add-opens", "--enable-native-access", "--sun-misc-unsafe-memory-access"}
OF_STYLE_SHEETS = {"--line", "--picture", "--quiet"}


def options_of(command: click.Command) -> set[str]:
    """The long options of a command; of a group, those of its commands, too."""
    options = {"--help", *(o for p in command.params for o in (*p.opts, *p.secondary_opts) if o.startswith("--"))}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            options |= options_of(command.get_command(context, name))
    return options


def command_named(name: str) -> click.Command:
    return main.get_command(click.Context(main), name)


# Commands, each with options that let it meet what lies in the directory.
RUNS = [
    ("ls", ()),
    ("ls", ("--json",)),
    ("verify", ()),
    ("verify", ("--json",)),
    ("verify", ("--follow-links",)),
    *((name, options) for name in ("recover", "clean") for options in ((), ("--dry-run",), ("--yes",))),
    *((name, ("--yes", "--follow-links")) for name in ("recover", "clean")),
]


def link_a_segment(log_dir: Path) -> None:
    shutil.move(log_dir / "mixed-0" / LAST_LOG, log_dir.parent / "elsewhere")
    (log_dir / "mixed-0" / LAST_LOG).symlink_to(log_dir.parent / "elsewhere")


def link_the_partition(log_dir: Path) -> None:
    shutil.move(log_dir / "mixed-0", log_dir.parent / "elsewhere")
    (log_dir / "mixed-0").symlink_to(log_dir.parent / "elsewhere")


def link_in_the_log_dir(name: str) -> Callable[[Path], None]:
    def link(log_dir: Path) -> None:
        (log_dir.parent / "elsewhere").write_bytes(b"")
        (log_dir / name).unlink(missing_ok=True)
        (log_dir / name).symlink_to(log_dir.parent / "elsewhere")

    link.__name__ = f"link {name}"
    return link


def give_a_second_name(log_dir: Path) -> None:
    os.link(log_dir / "mixed-0" / LAST_LOG, log_dir.parent / "elsewhere")


def put_a_fifo_there(log_dir: Path) -> None:
    os.mkfifo(log_dir / "mixed-0" / f"{99:020d}.log")


def damage_a_batch(log_dir: Path) -> None:
    with open(log_dir / "mixed-0" / LAST_LOG, "r+b") as segment:
        segment.seek(30)
        segment.write(b"\xff" * 8)


def damage_the_undo_file(log_dir: Path) -> None:
    (log_dir / UNDO).write_bytes(b"nonsense")


def leave_all_sound(log_dir: Path) -> None:
    pass


STATES = [
    leave_all_sound,
    link_a_segment,
    link_the_partition,
    *map(
        link_in_the_log_dir,
        (
            UNDO,
            CLEAN_SHUTDOWN_FILE_NAME,
            "recovery-point-offset-checkpoint",
            "recovery-point-offset-checkpoint.tmp",
            "cleaner-offset-checkpoint",
            "cleaner-offset-checkpoint.tmp",
            "meta.properties",
        ),
    ),
    give_a_second_name,
    put_a_fifo_there,
    damage_a_batch,
    damage_the_undo_file,
]


def told_of_a_directory(tmp_path: Path, change: Callable[[Path], None]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """What each command says of a log directory, and of its partition, in which `change` has changed something."""
    for number, (name, options) in enumerate(RUNS):
        for place in (".", "mixed-0"):
            log_dir = tmp_path / f"{number}{place}" / "logs"
            shutil.copytree(GOLDEN, log_dir)
            change(log_dir)
            result = CliRunner().invoke(main, [name, str(log_dir / place), *options])
            assert not isinstance(result.exception, (TypeError, AttributeError, LookupError)), result.exception
            yield name, options, result.output


@pytest.mark.slow
@pytest.mark.parametrize("change", STATES, ids=lambda change: change.__name__)
def test_a_command_names_no_option_that_it_lacks(tmp_path, change):
    for name, options, told in told_of_a_directory(tmp_path, change):
        assert set(NAMED.findall(told)) <= options_of(command_named(name)), (name, options, told)


@pytest.mark.parametrize(
    ("name", "change", "option"),
    [
        ("verify", link_a_segment, "--follow-links"),
        ("recover", link_a_segment, "--follow-links"),
        ("clean", give_a_second_name, "--follow-links"),
        ("clean", damage_a_batch, "--even-damaged"),
    ],
)
def test_the_option_that_helps_is_named(tmp_path, name, change, option):
    shutil.copytree(GOLDEN, tmp_path / "logs")
    change(tmp_path / "logs")
    agreed = ("--yes",) if "--yes" in options_of(command_named(name)) else ()
    agreed += ("--config", "cleanup.policy=compact") if name == "clean" else ()
    assert option in CliRunner().invoke(main, [name, str(tmp_path / "logs/mixed-0"), *agreed]).output


@pytest.mark.parametrize("place", ["mixed-0", "."])
def test_ls_names_no_option_for_a_link(tmp_path, place):
    shutil.copytree(GOLDEN, tmp_path / "logs")
    link_a_segment(tmp_path / "logs")
    result = CliRunner().invoke(main, ["ls", str(tmp_path / "logs" / place)])
    file = tmp_path / "logs/mixed-0" / LAST_LOG
    assert result.stderr == f"IOException: {file} is a symbolic link to {tmp_path / 'elsewhere'}\n"
    assert not NAMED.search(result.stdout)


def test_a_link_that_no_option_follows_is_told_without_one(tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "logs")
    link_in_the_log_dir(UNDO)(tmp_path / "logs")
    for options in (("--yes",), ("--yes", "--follow-links")):
        result = CliRunner().invoke(main, ["recover", str(tmp_path / "logs/mixed-0"), *options])
        assert result.exit_code == 1
        assert result.stderr == f"IOException: {tmp_path / 'logs' / UNDO} is a symbolic link to {tmp_path}/elsewhere\n"


@pytest.mark.slow
def test_each_option_in_a_text_is_one_of_a_command():
    """Of the texts of the whole code. A module that defines a command names only options of its own commands."""
    of_modules: dict[str, set[str]] = {}
    for name, (where, _) in COMMANDS.items():
        of_modules.setdefault(where.partition(":")[0], set()).update(options_of(command_named(name)))
    everywhere = set().union(*of_modules.values(), options_of(main))
    seen = set()
    for file in sorted((ROOT / "minikafka").rglob("*.py")):
        inside = file.relative_to(ROOT).with_suffix("")
        if inside.parts[1] == "witness" or inside.parts[1:3] in (
            ("lab", "widgets"),
            ("lab", "course"),
            ("lab", "site"),
        ):
            continue  # programs of their own, and style sheets
        if inside.name == "sandbox":
            continue  # the options of bubblewrap
        known = of_modules.get(".".join(inside.parts), everywhere)
        for text in _texts_of(ast.parse(file.read_text())):
            named = set(NAMED.findall(text)) - OF_JAVA - OF_STYLE_SHEETS
            assert named <= known, (str(inside), text)
            seen |= named
    assert {"--follow-links", "--even-damaged", "--trust-the-code", "--overwrite"} <= seen


def _texts_of(module: ast.Module) -> Iterator[str]:
    """The texts in a module, without its docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(module)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
