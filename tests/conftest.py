"""Fixtures that every room of the tests may use."""

import gc
import logging
import os
import shutil
import sys
import tempfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from minikafka.jvm.kafka_jvm import KafkaJvm, KafkaUnavailableError
from tests.absent import hide_ci, in_ci
from tests.answered_logs import AnsweredLogs
from tests.file_seconds import half, longest_first, note
from tests.jvm_watchdog import JvmWatchdog
from tests.kafka_answers import AnswerFiles
from tests.parts import PARTS
from tests.thread_stacks import ThreadStacks, write_stacks_to
from tests.two_logs import SMALL, TwoLogs, pairs

# Else jsonschema, which nbformat imports, makes 38 grammars of it, for formats that no notebook has: over a second.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

hide_ci()

_FILES_BETWEEN_COLLECTIONS = 300
_MEMORY_DISK = Path("/dev/shm")
_ROOM_FOR_FILES = 8 * 2**30  # bytes
_TESTS = Path(__file__).parent
_NOT_QUICK = {"kafka_broker", "damage", "differential"}


def pytest_addoption(parser):
    parser.addoption(
        "--operations",
        type=int,
        default=None,
        help="how many operations the differential test draws (default: as many as fit in `make test`)",
    )
    parser.addoption(
        "--ask-kafka",
        action="store_true",
        help="ask Kafka, too, the questions whose answers are in tests/kafka_said: it must answer as the files do",
    )
    parser.addoption(
        "--part",
        choices=["all", *map(str, range(PARTS))],
        default="all",
        help="of tests marked `in_parts(n)`, and those that take a `share`: every case (all, the default), or those of "
        "one of the n parts (the remainder of the number when it is divided by n)",
    )
    parser.addoption(
        "--write-answers",
        action="store_true",
        help="run the tests whose answers are in tests/kafka_said: ask Kafka, and write them anew",
    )
    parser.addoption("--quick", action="store_true", help="leave out what needs a JVM or a browser, and what is slow")
    parser.addoption("--half", type=int, choices=[1, 2], help="run this half of the files, and read no other")
    parser.addoption("--write-seconds", action="store_true", help="note how long each file of tests takes")
    parser.addoption("--seed", type=int, default=None, help="the first seed of the differential test and of power cuts")
    parser.addoption(
        "--patience", type=float, default=240, help="seconds until the JVMs of a test that hangs are killed"
    )
    parser.addoption(
        "--disk-states", type=int, default=12, help="how many disk states of each scenario a power cut leaves"
    )
    parser.addoption("--live-lessons", default="all", help="a part of the name of the lessons to run in a browser")
    parser.addoption("--draws", type=int, default=None, help="how many damaged directories verify is asked about")


def pytest_configure(config):
    """Keep in memory, where there is room, the tests' files and those of what they start: flushing to a disk takes most
    of many tests' time.
    """
    if config.getoption("--quick"):
        sys.addaudithook(_refuse_java)
    if _MEMORY_DISK.is_dir() and shutil.disk_usage(_MEMORY_DISK).free > _ROOM_FOR_FILES:
        os.environ.setdefault("TMPDIR", str(_MEMORY_DISK))
        tempfile.tempdir = None  # it is looked up again


@pytest.hookimpl(trylast=True, specname="pytest_configure")
def pytest_configure_stacks(config):
    """In one of several processes; after pytest's own faulthandler."""
    if hasattr(config, "workerinput"):
        write_stacks_to(config.workerinput["stacks"], config)


_stacks = ThreadStacks()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["stacks"] = _stacks.file_of(node.gateway.id)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    if error:
        _stacks.note_dead(node.gateway.id)


def _refuse_java(event, arguments):
    if event == "subprocess.Popen" and Path(os.fsdecode(arguments[0])).name == "java":
        raise RuntimeError("`make quick` starts no JVM: mark this test `kafka`")


def pytest_ignore_collect(collection_path, config):
    """Rooms of which `--quick` leaves out everything need not be read, nor files of the other half."""
    if config.getoption("--quick") and collection_path.parent == _TESTS / "slow" and collection_path.name in _NOT_QUICK:
        return True
    if config.getoption("--half") and collection_path.match("test_*.py"):
        in_half = _half_of_the_files(config.getoption("--half"), config.getoption("--quick"))
        return collection_path not in in_half or None
    return None


@lru_cache
def _half_of_the_files(number: int, quick: bool) -> set[Path]:
    paths = [path.relative_to(_TESTS.parent) for path in _TESTS.rglob("test_*.py")]
    if quick:
        paths = [path for path in paths if _NOT_QUICK.isdisjoint(path.parts)]
    return {_TESTS.parent / path for path in half(number, list(map(str, paths)), quick=quick)}


def pytest_collection_modifyitems(config, items):
    quick, part, writes = (config.getoption(name) for name in ("--quick", "--part", "--write-answers"))
    left_out = {
        item
        for item, number in zip(items, _numbers(items), strict=True)
        if (quick and _is_left_out(item)) or (writes and not _has_answers(item)) or not _is_in_part(item, number, part)
    }
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))
    if hasattr(config, "workerinput"):  # one of several processes
        items[:] = longest_first(items)


def pytest_collection_finish():
    """What has been collected stays to the end: Python need not go through it in each collection of garbage."""
    gc.collect()
    gc.freeze()


def _is_left_out(item) -> bool:
    """Whether `make quick` does without the test, by its fixtures and marks."""
    names = {*item.fixturenames, *(marker.name for marker in item.iter_markers())}
    return bool(names & {"kafka", "spark", "browser", "chromium", "bare", "slow"})


def _has_answers(item) -> bool:
    """Whether Kafka's answers to the test's questions are kept, by its fixtures and those that these ask for."""
    return not {"kafka_says", "kafka_says_to_the_module"}.isdisjoint(item.fixturenames)


def _numbers(items) -> list[int]:
    """A number for each: the cases of a test are counted, a test without cases has a number that its name gives."""
    counts: dict[tuple, count] = defaultdict(count)
    return [
        next(counts[item.path, item.originalname]) if hasattr(item, "callspec") else zlib.crc32(item.name.encode())
        for item in items
    ]


def _is_in_part(item, number: int, part: str) -> bool:
    """Whether a run of that part runs the test: of tests `in_parts(n)` those cases that fall to it ("all": every case).

    Cases are dealt out by their numbers: n runs have run all, each runs as many, and what several tests ask of the same
    list of cases, such as exercises, falls to the same run if they have as many parts.
    """
    marker = item.get_closest_marker("in_parts")
    if marker is None or part == "all":
        return True
    (parts,) = marker.args
    return number % parts == _number_among(parts, part)


def _number_among(parts: int, part: str) -> int:
    assert PARTS % parts == 0, f"{PARTS} runs would not run all of {parts} parts"
    return int(part) % parts


@pytest.fixture(scope="session")
def share(pytestconfig):
    """`share(cases, parts)`: of the many like cases within a test those that fall to this run, by `--part`: every so
    many-th one, the others in other runs; or all.
    """
    part = pytestconfig.getoption("--part")

    def chosen(cases: Sequence[Any], parts: int) -> Sequence[Any]:
        return cases if part == "all" else cases[_number_among(parts, part) :: parts]

    return chosen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    quick = item.config.getoption("--quick")  # then there is no JVM
    with nullcontext() if quick else JvmWatchdog(item.config.getoption("--patience")):
        result = yield
    if (nextitem is None or nextitem.path != item.path) and (clients := _librdkafka_clients()):
        clients.end_all_clients()
    _close_forgotten_files()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    clients = _librdkafka_clients()
    with clients.ending_clients() if clients else nullcontext():
        return (yield)


def _librdkafka_clients():
    """The module, where a test has imported it."""
    return sys.modules.get("tests.librdkafka_clients")


_open_after_collection = 0


def _close_forgotten_files() -> None:
    """Let Python collect the logs that tests have left open, long before they have 1024 files, which is all that many
    systems allow.
    """
    global _open_after_collection
    if _open_files() > _open_after_collection + _FILES_BETWEEN_COLLECTIONS:
        gc.collect()
        _open_after_collection = _open_files()


def _open_files() -> int:
    return len(os.listdir("/dev/fd"))


@pytest.fixture(scope="module")
def silent():
    """No warnings from minikafka: where trouble is meant, they would hide what a failure says."""
    logger = logging.getLogger("minikafka")
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(logging.NOTSET)


@pytest.fixture(scope="session")
def kafka_jvms():
    """The JVMs that `kafka` has been; only the last one may be alive."""
    try:
        jvms = [KafkaJvm.start()]
    except KafkaUnavailableError as unavailable:
        if in_ci():
            pytest.fail(f"CI must test against real Kafka: {unavailable}")
        pytest.skip(str(unavailable))
    yield jvms
    for jvm in jvms:
        jvm.close()


@pytest.fixture(scope="module")
def kafka(kafka_jvms):
    """A JVM with Apache Kafka's classes, which all tests share; a new one if the last was killed in another file.

    Without one tests fail in CI; elsewhere they are skipped, with the reason.
    """
    if kafka_jvms[-1].gateway.java_process.poll() is not None:
        kafka_jvms.append(KafkaJvm.start())
    return kafka_jvms[-1]


@pytest.fixture(scope="session")
def answer_files(pytestconfig):
    """The files of Kafka's answers; see `tests.kafka_answers`."""
    chosen = pytestconfig.getoption("keyword") or any("::" in argument for argument in pytestconfig.args)
    writes = pytestconfig.getoption("--write-answers")
    files = AnswerFiles(pytestconfig.getoption("--ask-kafka"), writes, bool(chosen))
    yield files
    if files.writes:
        files.write()


@pytest.fixture
def kafka_says(request, answer_files):
    """`kafka_says(ask, *question)` is Kafka's answer as plain values: `ask(kafka)`, or what the file has."""
    yield from _answers(request, answer_files, request.node.name)


@pytest.fixture(scope="module")
def kafka_says_to_the_module(request, answer_files):
    """As `kafka_says`, for fixtures that are made once for a module."""
    yield from _answers(request, answer_files, "of the module")


def _answers(request, files, case):
    answers = files.answers_of(request.path, case, lambda: request.getfixturevalue("kafka"))
    yield answers
    if not getattr(request.node, "has_failed", False):
        files.keep(request.path, case, answers.close())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    item.has_failed = getattr(item, "has_failed", False) or report.failed
    return report


@pytest.fixture(scope="module")
def two_logs_of_the_module(kafka_says_to_the_module):
    """As `two_logs`, for fixtures that are made once for a module."""
    yield from _two_logs(AnsweredLogs, kafka_says_to_the_module)


@pytest.fixture
def two_logs(kafka_says):
    """`two_logs(**config)` makes a pair of empty logs; settings with `__` for dots replace those of `SMALL`.

    What is done to them is done to minikafka's, and compared with what Kafka answered.
    """
    yield from _two_logs(AnsweredLogs, kafka_says)


@pytest.fixture(scope="module")
def two_live_logs_of_the_module(kafka):
    """As `two_live_logs`, for fixtures that are made once for a module."""
    yield from _two_logs(TwoLogs, kafka)


@pytest.fixture
def two_live_logs(kafka):
    """As `two_logs`, with Kafka's log always beside minikafka's: for tests that look into it, or are drawn."""
    yield from _two_logs(TwoLogs, kafka)


def _two_logs(kind, kafka):
    def make(directory: Path, name: str = "topic-0", **config) -> TwoLogs:
        settings = {key.replace("__", "."): value for key, value in config.items()}
        return kind(kafka, directory, {**SMALL, **settings}, name)

    yield from pairs(make)


@pytest.fixture(scope="session")
def spark():
    """The one Spark session of this process, with Kafka's classes in its JVM where they can be had."""
    from minikafka.spark import session

    return session()


# In CI nothing may be left out in silence: a test that is skipped there fails the run.
_skipped = []
_seconds: Counter[str] = Counter()


def pytest_runtest_logreport(report):
    _seconds[report.nodeid.partition("::")[0]] += report.duration
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A module that leaves itself out, as by `importorskip`."""
    report = yield
    if report.skipped and in_ci():
        report.outcome = "failed"
    return report


def pytest_sessionfinish(session, exitstatus):
    if session.config.getoption("--write-seconds") and not hasattr(session.config, "workerinput"):
        note(_seconds, quick=session.config.getoption("--quick"))
    if in_ci() and _skipped and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    for process, stacks in _stacks.of_the_dead().items():
        terminalreporter.section(f"where the process {process} stood when it died", red=True)
        terminalreporter.write_line(stacks or "it was killed, and could write nothing")
    if in_ci() and _skipped:
        terminalreporter.section("skipped, which is a failure in CI", red=True)
        for name in _skipped:
            terminalreporter.line(name)
