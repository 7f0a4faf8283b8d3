"""The compiled codec does what the codec that goes step by step does: for every message, in every version."""

import pytest

from minikafka.messages import compiled_codec, message_codec
from minikafka.messages.apis import FetchResponse, OffsetForLeaderEpochRequest
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_codec import Message
from minikafka.messages.message_sink import MessageSink
from minikafka.messages.message_tables import message_schemas
from tests.tools.drawn_messages import MessageDrawer
from tests.tools.make_message_tables import SOURCES

SCHEMAS = [schema for table in SOURCES for schema in message_schemas(table).values()]


def plain(value):
    """What a message holds, in a form in which a number that is none equals itself."""
    if isinstance(value, Message):
        fields = [*(message_codec.snake_case(field.name) for field in value.schema.fields), "unknown_tagged_fields"]
        return type(value), [plain(getattr(value, name)) for name in fields]
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return repr(value)
    return (memoryview, bytes(value)) if isinstance(value, memoryview) else (type(value), value)


def outcome(do):
    try:
        return do()
    except Exception as error:
        return type(error), str(error)


def read(codec, schema, version, data):
    source = MessageBytes(data)
    return outcome(lambda: plain(codec.read_message(schema.struct, source, version))), source.position


def written(codec, message, version):
    sink = MessageSink()
    sink.write(b"before")
    told = outcome(lambda: codec.write_message(message, sink, version))
    return told, outcome(lambda: bytes(sink)) if told is None else None


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_both_codecs_read_and_write_the_same(schema):
    drawer = MessageDrawer(sum(map(ord, schema.name)))
    for version in range(schema.versions.lowest, schema.versions.highest + 1):
        for _ in range(3):
            data = drawer.message(schema.struct, version, schema.versions)
            # 1. What is whole is read by the compiled code alone, and all of it.
            message, end = compiled_codec.reader(schema.struct, version)(memoryview(data), 0)
            by_steps = MessageBytes(data)
            assert plain(message) == plain(message_codec.read_message(schema.struct, by_steps, version))
            assert end == by_steps.position == len(data)
            # 2. So it is written.
            sink = MessageSink()
            compiled_codec.writer(schema.struct, version)(sink, message)
            assert (None, b"before" + bytes(sink)) == written(message_codec, message, version)
            # 3. Damaged bytes are read as the same message, or refused with the same exception.
            for _ in range(6):
                damaged = drawer.damaged(data)
                found, position = read(message_codec, schema, version, damaged)
                again = read(compiled_codec, schema, version, damaged)
                assert again == ((found, position) if isinstance(found[1], list) else (found, again[1])), damaged.hex()


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_both_codecs_refuse_the_same(schema):
    """A message of one version is written as each other one, and with a value that its field cannot hold."""
    drawer = MessageDrawer(1 + sum(map(ord, schema.name)))
    all_versions = range(schema.versions.lowest - 1, schema.versions.highest + 2)
    for version in all_versions[1:-1]:
        data = drawer.message(schema.struct, version, schema.versions)
        message = message_codec.read_message(schema.struct, MessageBytes(data), version)
        for other in all_versions:
            assert written(compiled_codec, message, other) == written(message_codec, message, other)
        for field in schema.struct.fields:
            name = message_codec.snake_case(field.name)
            drawn = getattr(message, name)
            for value in (None, -1, 1 << 70, "x" * 0x8000, "\ud800", [None], b"\0" * 600):
                setattr(message, name, value)
                told = written(compiled_codec, message, version)
                assert told == written(message_codec, message, version), f"{name} = {value!r}"
            setattr(message, name, drawn)


def test_what_was_written_before_a_failure_is_taken_back():
    """Here the failure comes after long records, which the sink holds as a piece of their own."""
    partition = FetchResponse.FetchableTopicResponse.PartitionData
    topic = FetchResponse.FetchableTopicResponse(
        topic="t", partitions=[partition(records=bytes(600)), partition(high_watermark=1 << 64)]
    )
    sink, by_steps = MessageSink(), MessageSink()
    for codec, into in ((compiled_codec, sink), (message_codec, by_steps)):
        with pytest.raises(Exception, match="high_watermark"):
            codec.write_message(FetchResponse(responses=[topic]), into, 12)
    assert bytes(sink) == bytes(by_steps)


def test_a_version_that_a_message_does_not_have_is_not_compiled():
    schema = OffsetForLeaderEpochRequest.schema
    assert compiled_codec.reader(schema, 99) is None and compiled_codec.writer(schema, -1) is None
