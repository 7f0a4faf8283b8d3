"""Two logs, or log managers, to which the same is done, of which Kafka's may be known by its answers alone."""

from dataclasses import asdict
from pathlib import Path

from minikafka.witness.directory_diff import NOT_DETERMINED, FilesOf
from minikafka.witness.observation import Observation
from tests.kafka_answers import Answers, digest, plain
from tests.two_log_managers import TwoLogManagers
from tests.two_logs import TwoLogs


class AnsweredLogs(TwoLogs):
    """As `TwoLogs`; where Kafka is not asked, `runners` and `directories` have minikafka's log alone.

    An answer to an operation is what changed in the observation since the last; an answer to `compare` is the files
    that changed, by size and SHA-256 in short.
    """

    def __init__(self, says: Answers, directory: Path, config: dict, name: str = "topic-0"):
        super().__init__(says.kafka if says.asked else None, directory, config, name)
        self._says = says
        self._new = [config, name]  # what is asked together with the first operation
        self._last, self._files = plain(asdict(Observation())), {}

    def kafkas(self, line: str) -> Observation:
        changed = self._says(
            lambda _: self._changed(plain(asdict(super(AnsweredLogs, self).kafkas(line)))), *self._new, line
        )
        self._new = []
        self._last = {**self._last, "result": "", "error": "", "message": "", **changed}
        return Observation(**{name: _tuple(value) for name, value in self._last.items()})

    def _changed(self, seen: dict) -> dict:
        told = {name: seen[name] for name in ("result", "error", "message") if seen[name]}
        return told | {name: value for name, value in seen.items() if value != self._last[name] and name not in told}

    def change(self, change) -> None:
        super().change(change)
        self._new.append(_digests(self.directories[0].parent))

    def stand_on(self, directory, checkpoints, config=None, now_ms=None) -> None:
        super().stand_on(directory, checkpoints, config, now_ms)
        self._new += [_digests(directory), checkpoints, config, now_ms]

    def compare(self, after: str = "") -> None:
        """Demand equal log directories."""
        if self._says.asked:
            super().compare(after)
        ours = _digests(self.directories[0].parent)
        self._files = self._says.now(self._files, lambda _: _digests(self.directories[1].parent), "files")
        assert ours == self._files, f"after {after}: other files than Kafka left; `--ask-kafka` shows the first byte"


class AnsweredManagers(TwoLogManagers):
    """As `TwoLogManagers`; where Kafka is not asked, `both` has minikafka's alone, and `kafka` is not there."""

    def __init__(self, says: Answers, directory: Path, names, default_config, **settings):
        super().__init__(says.kafka if says.asked else None, directory, names, default_config, **settings)
        self._says = says
        self._new = [names, default_config, [*settings]]  # what is asked together with the first thing that is done
        self._state = {}

    def do(self, step, *told):
        ours = self._result(step, self.minikafka)
        theirs = self._says(lambda _: self._result(step, self.kafka), *self._new, *map(_in_words, told))
        self._new = []
        assert plain(ours) == theirs, f"\n minikafka: {ours!r}\n Kafka:     {theirs!r}"
        self.compare()
        return ours

    def compare(self) -> None:
        """Demand equal logs, tasks and log directories."""
        if self._says.asked:
            super().compare()
        self._state = self._says.now(self._state, lambda _: _state_of(self.kafka), "state")
        assert plain(_state_of(self.minikafka)) == self._state
        theirs = self._says(lambda _: _contents_of(self.kafka), "files")
        assert _contents_of(self.minikafka) == theirs, "other files than Kafka left; `--ask-kafka` shows which"

    def change(self, change) -> None:
        super().change(change)
        self._new.append(_contents_of(self.minikafka))


def _in_words(told):
    """What is done, as a file can have it: of a function there is no more than that it is one."""
    if isinstance(told, dict):
        return {str(key): _in_words(value) for key, value in told.items()}
    if isinstance(told, (list, tuple, set)):
        return [_in_words(each) for each in (sorted(told, key=str) if isinstance(told, set) else told)]
    return told if told is None or isinstance(told, (bool, int, str)) else type(told).__name__


def _state_of(one) -> dict:
    """What `OneLogManager.state` gives: each log by its directory, which may be there twice, and the tasks."""
    observed = one.state()
    logs = [each for each in observed if not isinstance(each, str)]
    by_directory = {f"{number} {directory}": told for number, (directory, *told) in enumerate(logs)}
    return {"tasks": [each for each in observed if isinstance(each, str)], **by_directory}


def _contents_of(one) -> str:
    """One digest for all files and directories: their names alone would make files of answers long."""
    return digest(repr(sorted(one.files().items())).encode())


def _digests(directory: Path) -> dict[str, str]:
    """Size and SHA-256, in short, of each file below a directory whose content follows from what was done."""
    return {
        name: digest(content)
        for name, content in sorted(FilesOf(directory).items())
        if Path(name).name not in NOT_DETERMINED
    }


def _tuple(value):
    return tuple(map(_tuple, value)) if isinstance(value, list) else value
