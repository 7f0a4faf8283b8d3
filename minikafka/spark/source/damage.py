"""What the source does about bytes that Kafka would refuse, and about files that went away."""

import enum
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from minikafka.common.errors import CorruptRecordException, IllegalArgumentException, IOException
from minikafka.tools.failure import describe, one_line
from minikafka.tools.read_bounded import of_the_machine

DAMAGE = (RuntimeError, ValueError, IndexError, OSError, MemoryError)
"""Kafka's exceptions, and the machine's; anything else is a bug."""
_logger = logging.getLogger(__name__)
_LOSSES = ("OffsetOutOfRangeException", "NoSuchFileException", "InconsistentTopicIdException")


class Mode(enum.Enum):
    """What becomes of a damaged batch, or of a segment that is gone.

    FAILFAST ends the query with an exception; PERMISSIVE gives a row whose `_corrupt` says what is wrong and whose
    other columns, but for topic and partition, are null; DROPMALFORMED leaves it out.
    """

    FAILFAST = "FAILFAST"
    PERMISSIVE = "PERMISSIVE"
    DROPMALFORMED = "DROPMALFORMED"

    @staticmethod
    def of(name: str) -> "Mode":
        """The mode of that name, in any case; raises IllegalArgumentException."""
        try:
            return Mode(name.upper())
        except ValueError:
            known = ", ".join(mode.value for mode in Mode)
            raise IllegalArgumentException(f"mode={name} is none of {known}") from None


class OnDamage(NamedTuple):
    """What a query does about damage: its mode, and whether records that were there and are gone end it."""

    mode: Mode
    fails_on_loss: bool

    @staticmethod
    def of(mode: Mode) -> "OnDamage":
        """What a query does that is told no more than the mode."""
        return OnDamage(mode, fails_on_loss=mode is Mode.FAILFAST)

    def fails_at(self, damage: "Damage") -> bool:
        """Whether the damage ends the query."""
        return self.fails_on_loss if damage.is_loss else self.mode is Mode.FAILFAST


@contextmanager
def by_names_of_java() -> Iterator[None]:
    """An error of the machine inside becomes an IOException, which says what it is called in Java."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # one of Kafka's
            raise
        raise IOException(describe(error).removeprefix("IOException: ")) from error


def is_refused(error: BaseException) -> bool:
    """Whether the machine refused to read a file that is there: another look may succeed, and find no damage."""
    return of_the_machine(error) and not isinstance(error.__cause__ or error, FileNotFoundError)


class Damage(NamedTuple):
    """Bytes that cannot be read: the file, the position (bytes) where they begin, and Kafka's exception, as text."""

    file: str
    position: int
    exception: str

    @staticmethod
    def of(file: str, position: int, error: BaseException) -> "Damage":
        """What `error` says about the bytes from `position` on, the machine's errors by their names in Java."""
        is_gone = isinstance(error, FileNotFoundError) and error.errno is None
        told = one_line(f"NoSuchFileException: {error}") if is_gone else describe(error)
        return Damage(file, position, told)

    @property
    def is_loss(self) -> bool:
        """Whether nothing is wrong with bytes: records were there, and are gone."""
        return self.exception.startswith(_LOSSES)

    @property
    def told(self) -> str:
        """What is wrong, without the name of Kafka's exception."""
        return self.exception.partition(": ")[2]

    def exception_to_raise(self) -> CorruptRecordException:
        """The exception for FAILFAST."""
        return CorruptRecordException(f"{self.file}, position {self.position}: {self.exception}")


def warn_of_losses(damages: Iterable[Damage]) -> None:
    """Of records that are gone a query that goes on says something, as Spark's connector does."""
    for damage in damages:
        if damage.is_loss:
            _logger.warning("%s: %s; the query goes on", damage.file, damage.told)
