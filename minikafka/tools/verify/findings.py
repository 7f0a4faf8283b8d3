"""What `minikafka verify` reports: where something is not as Kafka leaves it, what is wrong, and what will become of
it.
"""

import enum
from pathlib import Path
from typing import NamedTuple

from minikafka.log.log_config import LogConfig
from minikafka.log.producer.producer_state_manager_config import ProducerStateManagerConfig
from minikafka.record.format.control_record import ControlRecordType

NOTE = "note"
"""What stands in the place of a fate where notes and findings are in one table."""


class Fate(enum.Enum):
    """What Kafka's next start does; the words in a finding's `next_start` give the details."""

    STAYS = "stays"
    """Not a byte of it changes."""
    CUT = "cut"
    """The segment ends before it, or is cut exactly there."""
    DELETED = "deleted"
    """The file goes."""
    REBUILT = "rebuilt"
    """The file is rewritten: its content differs afterwards."""
    MADE = "made"
    """The missing file is made."""
    RENAMED = "renamed"
    """The `.swap` file takes the place of the one that it replaces, or that is missing."""
    SPLIT = "split"
    """The segment becomes several."""
    PUT_ASIDE = "put aside"
    """The directory is renamed, for the broker does not have this partition."""
    LOAD_FAILS = "load fails"
    """The partition does not come online; the exception's name is in the words."""
    WARNED_OF = "warned of"
    """A file of the log directory is treated as empty, with a warning."""
    OFFLINE = "offline"
    """The log directory, or the broker, does not come up."""
    UNTOLD = "untold"
    """Nothing can be foretold, as not all of the partition could be read."""


NO_START = Fate.OFFLINE, "the broker does not start"


class Finding(NamedTuple):
    """Something that is not as Kafka leaves it: where (byte `position`, `offset`; None where there is none), what it
    is, and what Kafka does about it at its next start, as a `fate` and in words."""

    file: Path
    position: int | None
    offset: int | None
    what: str
    fate: Fate
    next_start: str


class Note(NamedTuple):
    """Something of a partition that may be as Kafka leaves it, or not, which its files alone do not tell.

    `file`: the partition's directory; `offset`: where it begins.
    """

    file: Path
    offset: int
    what: str


class OpenFinding(NamedTuple):
    """A finding whose fate is not known yet.

    `if_it_stays`: words to add if nothing happens to it. `may_raise`: names of the exceptions that a load throws
    because of it; an exception whose message names the file is attributed to it anyway. `fate`: what becomes of it,
    where that does not depend on the log's load.
    """

    file: Path
    position: int | None
    offset: int | None
    what: str
    if_it_stays: str = ""
    may_raise: tuple[str, ...] = ()
    fate: tuple[Fate, str] | None = None


class NextStart(NamedTuple):
    """How Kafka will load the partition: after a clean stop (`clean`), or else scanning it from `recovery_point` on;
    with the settings of its topic, and the clock at that time (ms since 1970). How long it remembers `producers`, None
    for a day. `why_stray`: why it then puts the partition aside, None where it does not, or nobody knows.
    """

    clean: bool
    recovery_point: int
    log_start_offset: int
    config: LogConfig
    now_ms: int
    producers: ProducerStateManagerConfig | None = None
    why_stray: str | None = None

    @property
    def knows_policy(self) -> bool:
        """Whether the topic's cleanup policy was told, which no file of a partition says."""
        return "cleanup.policy" in self.config.props

    @property
    def leaves_no_gaps(self) -> bool:
        """Whether it is known that no compaction takes records out of the log."""
        return self.knows_policy and not self.config.compact

    def gap(self, due: int, offset: int) -> str | None:
        """What is wrong where a batch or segment begins with `offset`, and `due` was the next one; None for nothing.

        A leader that deletes only gives offsets without gaps, and a follower keeps them. Compaction leaves gaps, so
        the policy must be told.
        """
        if offset <= due or not self.leaves_no_gaps:
            return None
        return f"offsets {due} to {offset - 1} are missing before it, and cleanup.policy=delete leaves no gaps"


class VerifiedBatch(NamedTuple):
    """The facts of a batch that the rest of the directory must agree with."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    marker: ControlRecordType | None
    size: int
