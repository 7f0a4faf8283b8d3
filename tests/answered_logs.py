"""Two logs to which the same is done, of which Kafka's may be known by its answers alone."""

import hashlib
from dataclasses import asdict
from pathlib import Path

from minikafka.witness.directory_diff import NOT_DETERMINED, FilesOf
from minikafka.witness.observation import Observation
from tests.kafka_answers import Answers, plain
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
        changed = self._says(lambda _: self._files_changed(_digests(self.directories[1].parent)), "files")
        self._files = {name: told for name, told in {**self._files, **changed}.items() if told is not None}
        assert ours == self._files, (
            f"after {after}: other files than Kafka left; `--ask-kafka all` shows the first byte"
        )

    def _files_changed(self, files: dict[str, str]) -> dict[str, str | None]:
        gone = dict.fromkeys(self._files.keys() - files.keys())
        return gone | {name: told for name, told in files.items() if self._files.get(name) != told}


def _digests(directory: Path) -> dict[str, str]:
    """Size and SHA-256, in short, of each file below a directory whose content follows from what was done."""
    return {
        name: f"{len(content)} {hashlib.sha256(content).hexdigest()[:12]}"
        for name, content in sorted(FilesOf(directory).items())
        if Path(name).name not in NOT_DETERMINED
    }


def _tuple(value):
    return tuple(map(_tuple, value)) if isinstance(value, list) else value
