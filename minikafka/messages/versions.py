"""A range of versions of a message."""

from typing import NamedTuple


class Versions(NamedTuple):
    """The versions from `lowest` to `highest`, both inclusive. Kafka: `org.apache.kafka.message.Versions`."""

    lowest: int
    highest: int

    @classmethod
    def parse(cls, text: str) -> "Versions":
        """`"none"`, `"3"`, `"0-4"` or `"2+"`."""
        if text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), 0x7FFF)
        lowest, _, highest = text.partition("-")
        return cls(int(lowest), int(highest or lowest))

    def intersect(self, other: "Versions") -> "Versions":
        """The versions of both."""
        return Versions(max(self.lowest, other.lowest), min(self.highest, other.highest))

    def has(self, version: int, possible: "Versions") -> bool:
        """Whether `version` is one of these, as Kafka's generated code finds out.

        That code only asks what makes a difference among the `possible` versions of a message. Of a version that is
        none of them, a damaged record's, the other end of the range is taken for granted. Kafka: `VersionConditional`.
        """
        if self.lowest > self.highest:
            return False
        return (possible.lowest >= self.lowest or version >= self.lowest) and (
            possible.highest <= self.highest or version <= self.highest
        )
