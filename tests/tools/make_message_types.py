"""Makes the types of messages, and the list of APIs, anew from the tables: `python -m tests.tools.make_message_types`.

The classes are made when they are asked for, so a type checker cannot see them; it reads these stubs instead.
"""

from collections.abc import Iterator
from pathlib import Path

from minikafka.messages import message_tables
from minikafka.messages.message_codec import snake_case
from minikafka.messages.message_schema import Field, StructSchema
from minikafka.messages.message_tables import message_schemas
from minikafka.network import api_keys

TABLES = ("apis", "cluster-metadata", "control-records")
UNIONS = {"cluster-metadata": "MetadataRecord"}
"""The name that stands for any message of a table."""

_TYPES = {"string": "str", "uuid": "str", "bool": "bool", "float64": "float", "bytes": "BytesLike", "records": "Any"}
_HEAD = '''"""The fields of the messages in tables/{table}.txt, made by tests/tools/make_message_types.py."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from minikafka.common.bytes_like import BytesLike
from minikafka.messages.message_codec import Message
'''

API_KEYS = Path(api_keys.__file__)
_API_KEYS_HEAD = '''"""The APIs of Kafka's protocol by name and number, made from the table of their messages.

Made by tests/tools/make_message_types.py. Kafka: `org.apache.kafka.common.protocol.ApiKeys`.
"""

from minikafka.network.api_key_base import ApiKey


class ApiKeys(ApiKey):
    """Kafka's APIs, also those that are gone and whose number stays reserved. Kafka: `ApiKeys`."""

'''


def main() -> None:
    """Write every stub, and the list of APIs."""
    for table in TABLES:
        stub_of(table).write_text(stub(table))
    API_KEYS.write_text(apis())


def apis() -> str:
    """The module with the list of APIs, as text."""
    requests = [schema for schema in message_schemas("apis").values() if schema.name.endswith("Request")]
    names = {schema.api_key: snake_case(schema.name.removesuffix("Request")).upper() for schema in requests}
    return _API_KEYS_HEAD + "".join(f"    {name} = {number}\n" for number, name in sorted(names.items()))


def stub_of(table: str) -> Path:
    """The file of a table's stub."""
    return Path(message_tables.__file__).with_name(f"{table.replace('-', '_')}.pyi")


def stub(table: str) -> str:
    """The stub of a table, as text."""
    names: dict[int, str] = {}
    schemas = message_schemas(table)
    lines = [_HEAD.format(table=table)]
    for schema in schemas.values():
        lines += ["", *_class_of(schema.struct, "", names)]
    if table in UNIONS:
        lines += ["", f"{UNIONS[table]}: TypeAlias = {' | '.join(schemas)}"]
    return "\n".join(lines) + "\n"


def _class_of(struct: StructSchema, outer: str, names: dict[int, str]) -> Iterator[str]:
    """The lines of a structure's class; `names` holds the whole names of those that were written already."""
    name = names[id(struct)] = f"{outer}.{struct.name}".lstrip(".")
    yield "@dataclass(kw_only=True)"
    yield f"class {struct.name}(Message):{'' if struct.fields else ' ...'}"
    inner = {id(field.type): field.type for field in struct.fields if isinstance(field.type, StructSchema)}
    for key, each in inner.items():
        if key in names:
            yield f"    {each.name} = {names[key]}"
        else:
            yield from (f"    {line}" for line in _class_of(each, name, names))
    for field in struct.fields:
        yield f"    {snake_case(field.name)}: {_type_of(field, names)} = ..."


def _type_of(field: Field, names: dict[int, str]) -> str:
    of_one = names[id(field.type)] if isinstance(field.type, StructSchema) else _TYPES.get(field.type, "int")
    of_field = f"list[{of_one}]" if field.is_array else of_one
    is_nullable = field.default is None or field.nullable.lowest <= field.nullable.highest
    return f"{of_field} | None" if is_nullable and of_one != "Any" else of_field


if __name__ == "__main__":
    main()
