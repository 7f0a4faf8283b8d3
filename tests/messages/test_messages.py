"""Requests and responses are read and written as Kafka's own classes do it, in every version."""

import pytest
from py4j.java_gateway import get_field

from minikafka.common.errors import (
    IllegalArgumentException,
    InvalidRequestException,
    NullPointerException,
    RuntimeException,
    UnsupportedVersionException,
)
from minikafka.messages import compiled_codec, message_codec
from minikafka.messages.compiled_codec import read_message, write_message
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_codec import snake_case
from minikafka.messages.message_sink import MessageSink
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import (
    BAD_BYTES,
    RequestHeader,
    parse_body,
    parse_response,
    request_bytes,
    request_class,
    response_class,
    response_sink,
)
from tests.tools.drawn_messages import MessageDrawer

HERE = [api for api in ApiKeys if api.has_valid_version]
ALL_VERSIONS = [(api, version) for api in HERE for version in range(api.versions.lowest, api.versions.highest + 1)]


def written(message, version: int) -> bytes:
    sink = MessageSink()
    write_message(message, sink, version)
    return bytes(sink)


def schemas_of(api: ApiKeys):
    return (api.request_schema, api.response_schema)


@pytest.mark.parametrize("api", HERE, ids=lambda api: api.name)
def test_what_is_read_can_be_written_and_read_again(api):
    drawer = MessageDrawer(api)
    for schema in schemas_of(api):
        for version in range(schema.versions.lowest, schema.versions.highest + 1):
            for _ in range(4):
                data = drawer.message(schema.struct, version, schema.versions)
                message = read_message(schema.struct, MessageBytes(data), version)
                again = read_message(schema.struct, MessageBytes(written(message, version)), version)
                assert again == message or "nan" in repr(message)


@pytest.mark.parametrize("api", HERE, ids=lambda api: api.name)
def test_damaged_bytes_raise_only_what_reading_may_raise(api):
    drawer = MessageDrawer(100 + api)
    for schema in schemas_of(api):
        for version in range(schema.versions.lowest, schema.versions.highest + 1):
            for _ in range(15):
                data = drawer.damaged(drawer.message(schema.struct, version, schema.versions))
                try:
                    read_message(schema.struct, MessageBytes(data), version)
                except BAD_BYTES:
                    pass


@pytest.mark.slow
@pytest.mark.parametrize("damage", [False, True])
def test_kafkas_own_classes_read_and_write_the_same(kafka, damage):
    util = kafka.find_class("org.apache.kafka.common.protocol.MessageUtil")
    accessor = kafka.find_class("org.apache.kafka.common.protocol.ByteBufferAccessor")
    buffer = kafka.find_class("java.nio.ByteBuffer")
    drawer = MessageDrawer(7 + damage)
    for api, version in ALL_VERSIONS:
        for schema in schemas_of(api):
            data = drawer.message(schema.struct, version, schema.versions)
            data = drawer.damaged(data) if damage else data
            kafkas = kafka.find_class(f"org.apache.kafka.common.message.{schema.name}Data")
            try:
                theirs = kafkas(accessor(buffer.wrap(data)), version)
                their_bytes = bytes(util.toByteBufferAccessor(theirs, version).buffer().array())
            except Exception as error:
                assert damage, f"{schema.name} {version}: {error}"
                their_bytes = None
            try:
                our_bytes = written(read_message(schema.struct, MessageBytes(data), version), version)
            except BAD_BYTES:
                our_bytes = None
            assert our_bytes == their_bytes, f"{schema.name} {version}: {data.hex()}"


@pytest.mark.slow
def test_the_apis_are_kafkas(kafka):
    kafkas = kafka.find_class("org.apache.kafka.common.protocol.ApiKeys")
    listener = kafka.find_class("org.apache.kafka.common.message.ApiMessageType$ListenerType")
    assert [api.name for api in ApiKeys] == [key.name() for key in kafkas.values()]
    for api in ApiKeys:
        theirs = kafkas.forId(api)
        assert api.has_valid_version == theirs.hasValidVersion()
        for kind in ("broker", "controller"):
            assert api.in_scope(kind) == theirs.inScope(listener.valueOf(kind.upper())), api
        if not api.has_valid_version:
            continue
        assert api.message_name == get_field(theirs, "name")
        assert api.versions == (theirs.oldestVersion(), theirs.latestVersion())
        assert api.stable_versions == (theirs.oldestVersion(), theirs.latestVersion(False))
        for version in range(-1, api.versions.highest + 3):
            ours = (api.request_header_version(version), api.response_header_version(version))
            assert ours == (theirs.requestHeaderVersion(version), theirs.responseHeaderVersion(version)), (api, version)
            assert api.is_version_enabled(version) == theirs.isVersionEnabled(version, False)


@pytest.mark.slow
def test_headers_are_read_as_kafka_reads_them(kafka):
    header = kafka.find_class("org.apache.kafka.common.requests.RequestHeader")
    buffer = kafka.find_class("java.nio.ByteBuffer")
    drawer = MessageDrawer(3)
    for api, version in [*ALL_VERSIONS, (ApiKeys.API_VERSIONS, 9), (ApiKeys.API_VERSIONS, -2)]:
        head = int(api).to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + drawer.draw.randbytes(4)
        for name in (b"\xff\xff", b"\0\0", b"\0\3abc", b"\0\2\xff\xfe", b"\xff\x80"):
            data = head + name + drawer.draw.choice((b"\0", b"\1\7\2ab", b"\1\7\5ab", b""))
            try:
                theirs = header.parse(buffer.wrap(data))
                expected = (theirs.apiVersion(), theirs.correlationId(), theirs.clientId())
            except Exception:
                expected = None
            try:
                read = RequestHeader.read(MessageBytes(data))
                ours = (read.api_version, read.correlation_id, read.client_id)
            except InvalidRequestException:
                ours = None
            assert ours == expected, data.hex()


def test_records_are_a_view_into_the_request():
    produce = request_class(ApiKeys.PRODUCE)
    topic = produce.TopicProduceData
    records = bytes(range(256)) * 8
    partition = topic.PartitionProduceData(index=3, records=records)
    body = produce(acks=1, timeout_ms=7, topic_data=[topic(name="t", partition_data=[partition])])
    data = bytearray(request_bytes(ApiKeys.PRODUCE, 9, body, correlation_id=5, client_id="c"))
    source = MessageBytes(data)
    header = RequestHeader.read(source)
    assert header == RequestHeader(ApiKeys.PRODUCE, 9, 5, "c")
    read = parse_body(header, source)
    assert read == body
    view = read.topic_data[0].partition_data[0].records
    assert isinstance(view, memoryview) and view.obj is data and not view.readonly


def test_long_records_are_passed_on_uncopied():
    fetch = response_class(ApiKeys.FETCH)
    partition = fetch.FetchableTopicResponse.PartitionData
    records = memoryview(bytes(4096))
    topic = fetch.FetchableTopicResponse(topic="t", partitions=[partition(records=records)])
    sink = response_sink(RequestHeader(ApiKeys.FETCH, 12, 9, ""), fetch(responses=[topic]))
    assert any(piece is records for piece in sink.pieces)
    correlation_id, body = parse_response(ApiKeys.FETCH, 12, bytes(sink))
    assert (correlation_id, bytes(body.responses[0].partitions[0].records)) == (9, bytes(4096))


def test_a_field_that_a_version_lacks_is_lost_only_if_it_may_be():
    fetch = request_class(ApiKeys.FETCH)
    partition = fetch.FetchTopic.FetchPartition
    lost = fetch(topics=[fetch.FetchTopic(topic="t", partitions=[partition(log_start_offset=7)])])
    read = read_message(fetch.schema, MessageBytes(written(lost, 4)), 4)
    assert read.topics[0].partitions[0].log_start_offset == -1
    kept = fetch(topics=[fetch.FetchTopic(topic="t", partitions=[partition(last_fetched_epoch=7)])])
    with pytest.raises(UnsupportedVersionException, match="non-default lastFetchedEpoch at version 11"):
        written(kept, 11)


def test_what_cannot_be_written():
    create = request_class(ApiKeys.CREATE_TOPICS)
    with pytest.raises(NullPointerException):
        written(create(topics=None), 5)
    with pytest.raises(RuntimeException, match="too long"):
        written(create(topics=[create.CreatableTopic(name="x" * 0x8000)]), 5)


def test_what_cannot_be_read():
    schema = request_class(ApiKeys.CREATE_TOPICS).schema
    with pytest.raises(RuntimeException, match="collection of size 2147483647, but there are only 0 bytes"):
        read_message(schema, MessageBytes(b"\x7f\xff\xff\xff"), 2)
    with pytest.raises(RuntimeException, match="non-nullable field topics"):
        read_message(schema, MessageBytes(b"\xff\xff\xff\xff"), 2)


def test_an_api_versions_request_of_an_unknown_version_is_one_of_version_0():
    header = RequestHeader(ApiKeys.API_VERSIONS, 77, 4, "")
    assert parse_body(header, MessageBytes(b"anything")) == request_class(ApiKeys.API_VERSIONS)()
    body = response_class(ApiKeys.API_VERSIONS)(error_code=35, throttle_time_ms=9)
    assert bytes(response_sink(header, body)) == b"\0\0\0\4\0\x23\0\0\0\0"


def test_header_of_an_api_that_is_gone_or_never_was():
    for data in (b"\0\4\0\0\0\0\0\0\0\0", b"\x03\xe8\0\0\0\0\0\0\0\0", b"", b"\0"):
        with pytest.raises(InvalidRequestException):
            RequestHeader.read(MessageBytes(data))
    with pytest.raises(IllegalArgumentException):
        ApiKeys.for_id(-1)


@pytest.mark.parametrize(
    ("data", "guess"), [(b"", -1), (b"\0", -1), (b"\0\3", 3), (b"\0\3\0\1\0", 3), (b"\x03\xe8\0\0", 1000)]
)
def test_a_header_that_ends_early_tells_its_number_if_it_is_there(data, guess):
    with pytest.raises(InvalidRequestException, match=f"best guess of the apiKeyId is: {guess}$"):
        RequestHeader.read(MessageBytes(data))


@pytest.mark.parametrize(("name", "snake"), [("timeoutMs", "timeout_ms"), ("isr", "isr"), ("apiKeys", "api_keys")])
def test_names_of_fields(name, snake):
    assert snake_case(name) == snake


@pytest.mark.parametrize("codec", [compiled_codec, message_codec])
def test_null_is_refused_for_bytes_that_must_be_there(codec):
    with pytest.raises(RuntimeException, match="non-nullable field authBytes was serialized as null"):
        codec.read_message(ApiKeys.SASL_AUTHENTICATE.request_schema.struct, MessageBytes(bytes(2)), 2)


@pytest.mark.parametrize(("field", "given"), [("topicData", b"\0"), ("name", b"\2\0"), ("partitionData", b"\2\2t\0")])
def test_null_is_refused_where_a_message_has_none(field, given):
    """Of a Produce request of version 9: no transactional id, acks, timeout, then what is `given`."""
    data = b"\0" + b"\0\1" + b"\0\0\0\7" + given + bytes(20)
    with pytest.raises(RuntimeException, match=f"non-nullable field {field} was serialized as null"):
        read_message(ApiKeys.PRODUCE.request_schema.struct, MessageBytes(data), 9)
