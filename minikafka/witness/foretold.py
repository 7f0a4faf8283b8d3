"""What `minikafka verify` foretells of a directory, held against what Apache Kafka then did with it."""

from pathlib import Path

from minikafka.log.log_config import LogConfig
from minikafka.tools.findings import Fate, Finding, NextStart
from minikafka.tools.partition_verifier import PartitionVerifier

_ENTRY_SIZES = {".index": 8, ".timeindex": 12}


class Foretold:
    """The findings of one partition's directory as it stands, before Kafka loads it.

    `config` are the topic's settings; `unread` are the lines of what could not be read, when nothing is foretold.
    """

    def __init__(
        self, directory: Path, config: dict, clean: bool, recovery_point: int, log_start_offset: int, now_ms: int
    ):
        next_start = NextStart(clean, recovery_point, log_start_offset, LogConfig(config), now_ms)
        self.findings: list[Finding] = []
        self.unread: list[str] = []
        self._clean = clean
        self._directory_name = directory.name
        self._before = _contents(directory)
        PartitionVerifier(directory, next_start, self.findings.append, self.unread.append).verify()
        self._changed = _contents(directory) != self._before

    def failures(self, directory: Path, error: str) -> list[str]:
        """What did not come true: a line each. `directory` is what Kafka made of it, `error` the exception's class with
        which the load failed ("" if it did not).
        """
        if self.unread:
            return []
        after = _contents(directory)
        lines = ["verify changed the directory"] if self._changed else []
        for finding in self.findings:
            failure = self._failure(finding, after, error)
            if failure:
                lines.append(f"{failure}: {finding.file.name}:{finding.position} {finding.what}: {finding.next_start}")
        fails = any(finding.fate is Fate.LOAD_FAILS for finding in self.findings)
        if fails != bool(error):
            lines.append(f"the load failed with {error!r}, which is {'' if fails else 'not '}foretold")
        lines += self._untold_changes(after)
        return lines

    def _failure(self, finding: Finding, after: dict[str, bytes], error: str) -> str:
        name, position = finding.file.name, finding.position
        before, now = self._before.get(name), after.get(name)
        if name == self._directory_name:
            return "" if finding.next_start == f"the load fails with {error}" else f"the load ends with {error!r}"
        if finding.fate is Fate.LOAD_FAILS:
            return "" if finding.next_start == f"the load fails with {error}" else f"the load ends with {error!r}"
        if finding.fate is Fate.STAYS:
            if before is None or now is None:
                return "" if before is now else "it does not stay as it is"
            if name.endswith(".log") and position is not None:
                whole = len(now) > position or len(now) == len(before)
                return "" if whole and before.startswith(now) else f"it has {len(now)} bytes now"
            return "" if _keeps(name, before, now) else "it is another now"
        if finding.fate is Fate.CUT:
            if now is None or not before.startswith(now) or len(now) > position:
                return "it is not cut"
            if "cut here" in finding.next_start and len(now) != position:
                return f"it is cut at {len(now)}"
            later = [n for n in after if n.endswith(".log") and n > name and n in self._before]
            return "later segments stay" if later and "every later segment" in finding.next_start else ""
        if finding.fate is Fate.DELETED:
            return "it is not deleted" if now is not None and now == before and before else ""
        if finding.fate is Fate.REBUILT:
            return "" if now is not None and now != before else "it is not another"
        if finding.fate is Fate.MADE:
            return "" if before is None and now is not None and any(now) == ("anew" in finding.next_start) else "not so"
        if finding.fate is Fate.RENAMED:
            came = now is None and name.removesuffix(".swap") in after if before is not None else now is not None
            return "" if came else "it does not take its place"
        if finding.fate is Fate.SPLIT:
            parts = b"".join(after[n] for n in sorted(after) if n.endswith(".log"))
            return "" if now != before and before in parts else "it is not split"
        return f"nothing is known of {finding.fate}"

    def _untold_changes(self, after: dict[str, bytes]) -> list[str]:
        told = {f.file.name for f in self.findings if f.fate in (Fate.CUT, Fate.DELETED, Fate.SPLIT)}
        first_cut = min((f.file.name for f in self.findings if "every later segment" in f.next_start), default="~")
        lines = []
        for name, before in self._before.items():
            if name.endswith(".log") and name not in told and not name > first_cut:
                now = after.get(name)
                if now != before and not (
                    now is not None and not before[len(now) :].strip(b"\0") and self._is_room(before)
                ):
                    lines.append(f"{name} is {'gone' if now is None else f'cut at {len(now)}'}, which is not foretold")
            elif not self.findings and self._clean and name != "partition.metadata" and ".snapshot" not in name:
                if name in after and not _keeps(name, before, after[name]):
                    lines.append(f"{name} is another, although nothing was found")
        return lines

    @staticmethod
    def _is_room(before: bytes) -> bool:
        return len(before) >= 1 << 20


def _contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def _keeps(name: str, before: bytes, now: bytes) -> bool:
    size = _ENTRY_SIZES.get(Path(name).suffix)
    if size is None or before == now:
        return before == now
    entries = before[: len(before) // size * size]
    longest = max(len(entries), len(now))
    return entries.ljust(longest, b"\0") == now.ljust(longest, b"\0")
