"""A request that fails as a whole is answered with the bytes of Kafka's `getErrorResponse`."""

import pytest
from py4j.java_gateway import get_field
from py4j.protocol import Py4JJavaError

from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    IllegalStateException,
    InvalidRequestException,
    NullPointerException,
)
from minikafka.messages.compiled_codec import read_message, write_message
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_sink import MessageSink
from minikafka.network.api_keys import ApiKeys
from minikafka.network.error_responses import error_response
from minikafka.network.messages import RequestHeader, request_class
from minikafka.witness.unordered_lists import UNORDERED, sort_unordered
from tests.tools.drawn_messages import MessageDrawer

HERE = [api for api in ApiKeys if api.has_valid_version]
THROWN = [
    Errors.UNSUPPORTED_VERSION.exception(),
    InvalidRequestException("why it is not allowed"),
    IllegalStateException("nobody's business"),
]


def ours(api: ApiKeys, version: int, data: bytes, thrown: Exception) -> bytes | None:
    body = read_message(api.request_schema.struct, MessageBytes(data), version)
    response = error_response(RequestHeader(api, version, 1, "c"), body, thrown)
    if response is None:
        return None
    sink = MessageSink()
    write_message(response, sink, version)
    return bytes(sink)


def in_one_order(api: ApiKeys, version: int, data: bytes | None) -> bytes | None:
    """The bytes of a response; of one with lists in the order of Kafka's hash maps, those with the lists sorted."""
    if data is None or api not in UNORDERED:
        return data
    body = read_message(api.response_schema.struct, MessageBytes(data), version)
    sort_unordered(api, body)
    sink = MessageSink()
    write_message(body, sink, version)
    return bytes(sink)


def test_an_error_is_told_of_each_thing_that_was_asked_about():
    AlterClientQuotas = request_class(ApiKeys.ALTER_CLIENT_QUOTAS)
    Entry = AlterClientQuotas.EntryData
    entities = [Entry.EntityData(entity_type="user", entity_name=name) for name in ("ada", "bob")]
    body = AlterClientQuotas(entries=[Entry(entity=[entity]) for entity in entities])
    response = error_response(RequestHeader(ApiKeys.ALTER_CLIENT_QUOTAS, 1, 1, "c"), body, THROWN[0])
    told = [
        (entry.error_code, each.entity_type, each.entity_name) for entry in response.entries for each in entry.entity
    ]
    assert told == [(Errors.UNSUPPORTED_VERSION, "user", "ada"), (Errors.UNSUPPORTED_VERSION, "user", "bob")]


@pytest.mark.parametrize("api", HERE, ids=lambda api: api.name)
def test_every_request_has_an_error_response_in_every_version(api):
    drawer = MessageDrawer(api)
    for version in range(api.versions.lowest, api.versions.highest + 1):
        for thrown in THROWN:
            data = drawer.message(api.request_schema.struct, version, api.versions)
            try:
                assert ours(api, version, data, thrown) or api is ApiKeys.PRODUCE
            except NullPointerException:  # no records: nobody thought of that
                assert api is ApiKeys.PRODUCE


@pytest.mark.slow
def test_error_responses_are_kafkas(kafka):
    keys = kafka.find_class("org.apache.kafka.common.protocol.ApiKeys")
    request = kafka.find_class("org.apache.kafka.common.requests.AbstractRequest")
    util = kafka.find_class("org.apache.kafka.common.protocol.MessageUtil")
    accessor = kafka.find_class("org.apache.kafka.common.protocol.ByteBufferAccessor")
    buffer = kafka.find_class("java.nio.ByteBuffer")
    kafkas_errors = kafka.find_class("org.apache.kafka.common.protocol.Errors")
    their_thrown = [
        kafkas_errors.forCode(35).exception(),
        kafka.find_class("org.apache.kafka.common.errors.InvalidRequestException")("why it is not allowed"),
        kafka.find_class("java.lang.IllegalStateException")("nobody's business"),
    ]
    drawer, compared = MessageDrawer(5), 0
    for api in HERE:
        for version in range(api.versions.lowest, api.versions.highest + 1):
            data = drawer.message(api.request_schema.struct, version, api.versions)
            try:
                parsed = get_field(
                    request.parseRequest(keys.forId(api), version, accessor(buffer.wrap(data))), "request"
                )
            except Py4JJavaError:
                continue  # a request's own class may be stricter than its schema
            number = drawer.draw.randrange(3)
            try:
                theirs = parsed.getErrorResponse(0, their_thrown[number])
                expected = theirs and bytes(util.toByteBufferAccessor(theirs.data(), version).buffer().array())
            except Py4JJavaError as error:
                assert "NullPointerException" in str(error), api  # null where the class did not think of it
                continue
            mine = ours(api, version, data, THROWN[number])
            assert in_one_order(api, version, mine) == in_one_order(api, version, expected), (api, data.hex(), number)
            compared += 1
    assert compared > 280
