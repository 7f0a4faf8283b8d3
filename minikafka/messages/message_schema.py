"""What Kafka's messages are made of: which fields, in which versions.

`message_tables` reads the schemas, `message_codec` reads and writes messages by them.
"""

from typing import NamedTuple

from minikafka.messages.versions import Versions


class Field(NamedTuple):
    """One field of a structure, and in which versions it is there, and may be null.

    `type` is a word of Kafka's schemas (`int32`, `string`, `uuid`) or a structure; `is_array`: a list of such. A field
    with a `tag` stands behind the others, and only where it differs from its `default`. What an `ignorable` field holds
    is lost, without a word, in a version that lacks it.
    """

    name: str
    type: "str | StructSchema"
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    default: object
    ignorable: bool = False


class StructSchema:
    """The fields of a message or of a structure in it.

    - `versions` are its own; a version that is none of the `outer` ones, of what it is part of, is refused.
    - `possible` are those of both, `flexible` those with compact lengths and tagged fields.
    - `fields` are set after the rest, since structures may stand in each other.
    """

    def __init__(self, name: str, versions: Versions, possible: Versions, flexible: Versions):
        self.name = name
        self.versions = versions
        self.fields: tuple[Field, ...] = ()
        self.outer = possible
        self.possible = possible.intersect(versions)
        self.flexible = flexible


class MessageSchema(NamedTuple):
    """A message of Kafka's; `api_key` says which request or what kind of record it is, -1 where it has no number.

    `listeners`: which listeners hear a request ("broker", "controller"); `latest_unstable`: its last version is not
    released.
    """

    name: str
    api_key: int
    versions: Versions
    struct: StructSchema
    listeners: frozenset[str] = frozenset()
    latest_unstable: bool = False
