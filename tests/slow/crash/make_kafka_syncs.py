"""Watches Apache Kafka work on its disk: `python tests/slow/crash/make_kafka_syncs.py` writes the effects in
kafka_syncs.txt.

Each line of each scenario in that file is done to Kafka's own log in a JVM whose system calls `strace` shows; what the
line did on disk is put below it, in its order. To have another scenario watched, write its lines into the file without
effects first. Needs Linux, strace, and Kafka's jars.
"""

import re
import subprocess
import tempfile
import time
from pathlib import Path

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.witness.kafka.kafka_log import kafka_log
from minikafka.witness.log.run import Runner
from minikafka.witness.log.workload import Workload
from tests.slow.crash.disk_effects import Scenario, add_effect, listed, read_scenarios, relative
from tests.slow.crash.steps import perform

FILE = Path(__file__).with_name("kafka_syncs.txt")
CALLS = "open,openat,mkdir,rename,unlink,rmdir,ftruncate,write,pwrite64,writev,fsync,fdatasync,msync,mmap,munmap"
MARK = "/mark/"  # a directory that no one may make: its name in the trace says which step begins

_OPENING = -1  # the step before the first: the log is opened
_CALL = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\w+)(?:<(.*?)>)?")
_UNFINISHED = re.compile(r"(\d+) +(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"(\d+) +<\.\.\. \w+ resumed>(.*)$")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SHARED = re.compile(r"MAP_SHARED, \d+<(.*?)>")
_DESCRIPTOR = re.compile(r"^\d+<(.*?)>")


def main() -> None:
    """Watch all scenarios of the file and write it anew, its head (the lines that begin with `#`) as it stands."""
    text = FILE.read_text()
    head = [line for line in text.splitlines() if line.startswith("#")]
    scenarios = read_scenarios(text)
    kafka = KafkaJvm.start()
    with tempfile.TemporaryDirectory() as home:
        home = Path(home).resolve()
        trace = home / "trace"
        watched = subprocess.Popen(
            ["strace", "-f", "-y", "-s", "200", "-e", f"trace={CALLS}", "-o", trace]
            + ["-p", str(kafka.gateway.java_process.pid)],
            stderr=subprocess.PIPE,
            text=True,
        )
        watched.stderr.readline()  # it says that it is attached
        there = [live(kafka, home / str(n) / "topic-0", n, scenario) for n, scenario in enumerate(scenarios)]
        kafka.file(MARK + "end").mkdir()
        time.sleep(1)
        watched.terminate()
        watched.wait()
        kafka.close()
        calls = list(read_calls(trace.read_text(errors="replace").splitlines()))
        for number, scenario in enumerate(scenarios):
            note_effects(calls, home / str(number) / "topic-0", number, scenario, there[number])
    FILE.write_text("\n".join(head) + "\n\n" + "\n".join(map(str, scenarios)))


def live(kafka: KafkaJvm, directory: Path, number: int, scenario: Scenario) -> dict[int, set[str]]:
    """Do the steps to a log of Kafka's, with a mark before each; the files that there were then."""
    there = {_OPENING: set()}
    kafka.file(MARK + f"{number}.{_OPENING}").mkdir()
    runner = Runner(kafka_log(kafka), directory, Workload(config=scenario.config))
    for step, (line, _) in enumerate(scenario.steps):
        there[step] = {str(path) for path in directory.parent.rglob("*") if path.is_file()}
        kafka.file(MARK + f"{number}.{step}").mkdir()
        perform(runner, line)
    kafka.file(MARK + "between").mkdir()
    runner.let_go()
    return there


def read_calls(lines):
    """(name, arguments, result, path of the descriptor that came back) of each call, ordered by its end."""
    begun = {}
    for line in lines:
        if unfinished := _UNFINISHED.match(line):
            begun[unfinished[1]] = unfinished[2]
            continue
        if resumed := _RESUMED.match(line):
            line = f"{resumed[1]} {begun.pop(resumed[1], '')}{resumed[2]}"
        if call := _CALL.match(line):
            yield call[2], call[3], call[4], call[5]


def note_effects(calls, directory: Path, number: int, scenario: Scenario, there: dict[int, set[str]]) -> None:
    """Put the effects of each step below it; `there`: the files at each step's beginning."""
    disk, step, found = WatchedDisk(directory), None, {}
    for name, arguments, result, returned in calls:
        if name == "mkdir" and MARK in arguments:
            owner, _, words = _QUOTED.search(arguments)[1].removeprefix(MARK).partition(".")
            step = int(words) if owner == str(number) else None
            if step is not None:
                disk.files, found[step] = there[step], []
        elif step is not None and result != "-1":
            for effect in disk.effects_of(name, arguments, result, returned):
                add_effect(found[step], *effect)
    scenario.steps = [(line, listed(line, found[step])) for step, (line, _) in enumerate(scenario.steps)]


class WatchedDisk:
    """Turns the system calls of one scenario into effects; knows which files there are and what is mapped where."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.log_dir = str(directory.parent)
        self.directories = {self.log_dir, str(directory)}
        self.files = set()
        self.mapped = {}

    def effects_of(self, name: str, arguments: str, result: str, returned: str | None):
        """The effects (operation, name, …) of a call that went well."""
        quoted, descriptor, address = _QUOTED.findall(arguments), _DESCRIPTOR.match(arguments), arguments.split(",")[0]
        path = descriptor[1] if descriptor else quoted[0] if quoted else ""
        if name == "mmap":
            mapping = _SHARED.search(arguments)
            if mapping and self._is_ours(mapping[1]):
                self.mapped[result] = mapping[1]
        elif name == "munmap":
            self.mapped.pop(address, None)
        elif name == "msync":
            if address in self.mapped:
                yield "fsync", self._name(self.mapped[address])
        elif name in ("open", "openat"):
            yield from self._opened(returned or "", arguments)
        elif self._is_ours(path):
            yield from self._done(name, path, quoted, arguments)

    def _opened(self, path: str, arguments: str):
        if not self._is_ours(path):
            return
        if "O_CREAT" in arguments and path not in self.files:
            self.files.add(path)
            yield "create", self._name(path)
        elif "O_TRUNC" in arguments:
            yield "truncate", self._name(path), "0"

    def _done(self, name: str, path: str, quoted: list[str], arguments: str):
        if name == "mkdir":
            self.directories.add(path)
            yield "create_directory", self._name(path)
        elif name == "rename":
            moved = re.compile(re.escape(path) + "(?=/|$)")
            self.files = {moved.sub(quoted[1], file) for file in self.files}
            self.directories = {moved.sub(quoted[1], directory) for directory in self.directories}
            self.mapped = {at: moved.sub(quoted[1], file) for at, file in self.mapped.items()}
            yield "rename", self._name(path), self._name(quoted[1])
        elif name in ("unlink", "rmdir"):
            self.files.discard(path)
            yield "delete", self._name(path)
        elif name == "ftruncate":
            yield "truncate", self._name(path), arguments.split(",")[1].strip()
        elif name in ("fsync", "fdatasync"):
            yield "flush_dir" if path in self.directories else "fsync", self._name(path)
        else:
            yield "write", self._name(path)

    def _is_ours(self, path: str) -> bool:
        return path == self.log_dir or path.startswith(self.log_dir + "/")

    def _name(self, path: str) -> str:
        return relative(path, self.directory)


if __name__ == "__main__":
    main()
