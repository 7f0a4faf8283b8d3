"""What a reader asks for in a fetch session, and what lies in the partitions meanwhile, as text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from minikafka.witness.log.workload import WorkloadError

KINDS = {
    "append": 2,
    "append_unreplicated": 2,
    "mark": 1,
    "delete": 1,
    "fail": 1,
    "heal": 1,
    "ask_another": 1,
    "cut": 1,
    "fetch": None,
}
"""The operations, and how many words each takes; None: as many as one likes."""

_NUMBER, _PARTITION = re.compile(r"\d+"), re.compile(r"-?\d+")


@dataclass(frozen=True)
class SessionOperation:
    """One line. Partitions are numbers.

    - `append 2 3`: partition 2 gets three records, and its high watermark rises by three. `append_unreplicated 2 3`: it
      gets three records that no follower has yet. `mark 2`: the high watermark alone rises by one. `delete 2`: the log
      start rises by one.
    - `fail 2`: partition 2 has an error, until `heal 2`.
    - `ask_another 2`: at the next fetch the reader had better ask another replica for partition 2. `cut 2`: at the next
      fetch the reader, a follower, must cut its log of partition 2 first.
    - `fetch 0 1 -2`: a request that names partitions 0 and 1, and forgets partition 2. The first one begins a session,
      the others continue it.
    """

    kind: str
    words: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "SessionOperation":
        """Read a line. Raises ValueError for one that cannot be read."""
        kind, *words = text.split()
        if kind not in KINDS:
            raise ValueError(f"there is no operation {kind!r}; there are {', '.join(KINDS)}")
        if KINDS[kind] not in (None, len(words)):
            raise ValueError(f"{kind} takes {KINDS[kind]} words")
        form = _PARTITION if kind == "fetch" else _NUMBER
        if wrong := [word for word in words if form.fullmatch(word) is None]:
            raise ValueError(f"{wrong[0]} is no number of a partition or of records")
        return cls(kind, tuple(words))

    @property
    def partition(self) -> int:
        """Where something happens."""
        return int(self.words[0])

    @property
    def named(self) -> list[int]:
        """The partitions that a fetch names, each once."""
        return list(dict.fromkeys(int(word) for word in self.words if not word.startswith("-")))

    @property
    def forgotten(self) -> list[int]:
        """The partitions that a fetch forgets, each once."""
        return list(dict.fromkeys(int(word[1:]) for word in self.words if word.startswith("-")))

    def __str__(self) -> str:
        return " ".join((self.kind, *self.words))


@dataclass(frozen=True)
class SessionWorkload:
    """Operations, one a line; `#` begins a comment:

    fetch 0 1     # begins a session with two partitions
    append 1 3
    fetch 2 -0    # one more, one less; partition 1 has records
    """

    operations: tuple[SessionOperation, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "SessionWorkload":
        """Read the text form. Raises WorkloadError with the number of the line that cannot be read."""
        operations = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].strip()
            try:
                if line:
                    operations.append(SessionOperation.parse(line))
            except ValueError as error:
                raise WorkloadError(f"line {number}: {error} (in: {line})") from None
        return cls(tuple(operations))

    def with_operations(self, operations: Iterable[SessionOperation]) -> "SessionWorkload":
        """The same with other operations."""
        return replace(self, operations=tuple(operations))

    def __len__(self) -> int:
        return len(self.operations)

    def __iter__(self) -> Iterator[SessionOperation]:
        return iter(self.operations)

    def __str__(self) -> str:
        return "\n".join(map(str, self.operations)) + "\n"
