"""The compiled codec does what the codec that goes step by step does: for every message, in every version."""

import pytest

from minikafka.messages import compiled_codec, message_codec
from minikafka.messages.apis import FetchRequest, FetchResponse, OffsetForLeaderEpochRequest
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


LENGTHS = [0, 1, 125, 126, 127, 128, 255, 256, 16_382, 16_383, 16_384, 16_385, 16_510, 16_511, 16_512, 32_767]
"""Around those whose number, larger by one, needs another byte, or has bytes of which seven bits are 0."""


@pytest.mark.parametrize("length", [*LENGTHS, 2_097_150, 2_097_151, 2_097_152])
def test_lengths_of_every_number_of_bytes(length):
    topic = FetchResponse.FetchableTopicResponse
    partition = topic.PartitionData(records=memoryview(bytes(length)), high_watermark=7)
    messages = [(FetchResponse(responses=[topic(topic="t", partitions=[partition])]), 12)]
    if length <= LENGTHS[-1]:
        make_topic = FetchRequest.ForgottenTopic
        forgotten = [make_topic(topic="a" * length, partitions=[3] * length), make_topic(topic="b")]
        messages.append((FetchRequest(forgotten_topics_data=forgotten, rack_id="r"), 12))
    for message, version in messages:
        sink, by_steps = MessageSink(), MessageSink()
        compiled_codec.writer(message.schema, version)(sink, message)
        message_codec.write_message(message, by_steps, version)
        data = bytes(sink)
        assert data == bytes(by_steps)
        found, end = compiled_codec.reader(message.schema, version)(memoryview(data), 0)
        assert (plain(found), end) == (plain(message), len(data))


@pytest.mark.parametrize(
    "number", ["8100", "808000", "80808000", "8080808000", "808080808000", "ffffffff0f", "ffffffff7f", "ff", "8080"]
)
def test_lengths_that_no_writer_writes(number):
    """A length whose last bytes are 0, or that has too many bytes, or none at the end."""
    schema = message_schemas("apis")["DeleteTopicsRequest"]
    for behind in (b"", b"\0" * 8, b"\1" * 40):
        data = bytes.fromhex(number) + behind
        assert read(compiled_codec, schema, 4, data)[0] == read(message_codec, schema, 4, data)[0], data.hex()
