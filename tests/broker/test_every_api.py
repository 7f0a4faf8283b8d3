"""Whatever arrives, a broker answers it, closes the connection or lets it wait; nothing else leaves it."""

import ast
import logging
import re
from pathlib import Path

import pytest

import minikafka.broker
from minikafka.common.error_codes import Errors
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.network.request import NoBytes
from tests.broker.three_brokers import ThreeBrokers
from tests.tools.drawn_messages import MessageDrawer

MODULES = {
    ApiKeys[path.stem.removesuffix("_handler").upper()]: path
    for path in Path(minikafka.broker.__file__).parent.glob("*_handler.py")
}
"""A module for each API that is served."""
SERVED = set(MODULES)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory):
    cluster = ThreeBrokers(tmp_path_factory.mktemp("brokers"))
    cluster.create("a")
    yield cluster
    cluster.close()


@pytest.fixture(autouse=True)
def quiet():
    logging.getLogger("minikafka.broker").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("minikafka.broker").setLevel(logging.NOTSET)


def head(api, version):
    return request_bytes(api, version, request_class(api)(), correlation_id=3, client_id="c")[
        : 11 + _flexible(api, version)
    ]


def _flexible(api, version):
    return api.request_header_version(version) - 1


def drawn(drawer, api, version):
    return head(api, version) + drawer.message(api.request_schema.struct, version, api.versions)


@pytest.mark.parametrize("api", [api for api in ApiKeys if api.has_valid_version], ids=lambda api: api.name)
def test_drawn_messages_of_every_version_are_answered_in_their_own_form(brokers, api):
    drawer = MessageDrawer(api)
    for version in range(api.versions.lowest, api.versions.highest + 1):
        for _ in range(4):
            ticket = brokers.brokers[0].handle(drawn(drawer, api, version))
            if not api.in_scope("broker") or not api.is_version_enabled(version):
                assert ticket.result is NoBytes.CLOSE
            elif ticket.done and not isinstance(ticket.result, NoBytes):
                correlation_id, _ = parse_response(api, version, ticket.result)
                assert correlation_id == 3
            else:
                assert api in (ApiKeys.PRODUCE, ApiKeys.FETCH, ApiKeys.DELETE_RECORDS)


@pytest.mark.parametrize("api", sorted(SERVED), ids=lambda api: api.name)
def test_damaged_messages_are_answered_or_close_the_connection(brokers, api):
    drawer = MessageDrawer(50 + api)
    for version in range(api.versions.lowest, api.versions.highest + 1):
        for _ in range(25):
            data = drawn(drawer, api, version)
            brokers.brokers[0].handle(drawer.damaged(data))


def test_bytes_that_are_no_request_close_the_connection(brokers):
    for data in (b"", b"\0", b"\0\0\0\x09\0\0\0\1", b"\x03\xe8\0\0\0\0\0\1\xff\xff", b"\0\x04\0\0\0\0\0\1\xff\xff"):
        assert brokers.brokers[0].handle(data).result is NoBytes.CLOSE


@pytest.mark.parametrize("api", sorted(SERVED), ids=lambda api: api.name)
def test_the_module_of_an_api_says_its_versions_and_what_kafka_does(api):
    head = ast.get_docstring(ast.parse(MODULES[api].read_text(encoding="utf-8")))
    lowest, highest = api.stable_versions
    versions = f"versions {lowest}–{highest}" if lowest < highest else f"version {lowest}"
    assert head.startswith(f"{api.message_name}, key {api:d}, {versions}: ")
    assert re.search(r"\n\nWhat Kafka does:\n\n- \S", head)
    # 1. A new version is told, and none that is not there.
    told = head.partition("\n\nVersions: ")[2]
    assert bool(told) == (lowest < highest)
    assert all(int(number) <= api.versions.highest for number in re.findall(r"(?<![−\w])\d+\b", told))


def test_what_is_advertised_is_what_is_served(brokers):
    body = request_class(ApiKeys.API_VERSIONS)(client_software_name="a", client_software_version="1")
    answer = brokers.ask(0, ApiKeys.API_VERSIONS, 3, body)
    told = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert told.keys() == SERVED
    assert [row.api_key for row in answer.api_keys] == [api for api in ApiKeys if api in SERVED]
    for api in SERVED - {ApiKeys.PRODUCE, ApiKeys.INIT_PRODUCER_ID}:
        assert told[api] == api.versions
    assert told[ApiKeys.PRODUCE] == (0, 13)  # a client library does not compress if it sees a higher minimum
    assert told[ApiKeys.INIT_PRODUCER_ID] == (0, 5)  # version 6 is not released


@pytest.mark.parametrize(
    ("name", "version", "error"), [("", "1", 42), ("a b", "1", 42), ("a", "-", 42), ("a.b-c", "1.0", 0)]
)
def test_a_client_must_say_in_clear_letters_what_it_is(brokers, name, version, error):
    body = request_class(ApiKeys.API_VERSIONS)(client_software_name=name, client_software_version=version)
    assert brokers.ask(0, ApiKeys.API_VERSIONS, 4, body).error_code == error


@pytest.mark.parametrize("version", [5, 99, -1])
def test_an_unknown_version_of_api_versions_is_answered_in_version_0(brokers, version):
    data = b"\0\x12" + version.to_bytes(2, "big", signed=True) + b"\0\0\0\7\xff\xff" + b"\0" * (version > 2)
    correlation_id, answer = parse_response(ApiKeys.API_VERSIONS, 0, brokers.brokers[0].handle(data).result)
    assert (correlation_id, answer.error_code) == (7, Errors.UNSUPPORTED_VERSION)
    assert [(row.api_key, row.min_version, row.max_version) for row in answer.api_keys] == [(18, 0, 4)]


@pytest.mark.parametrize(
    "api", [api for api in ApiKeys if api.in_scope("broker") and api not in SERVED], ids=lambda api: api.name
)
def test_what_is_not_served_says_so(brokers, api):
    drawer = MessageDrawer(api)
    version = api.stable_versions.highest
    told = set()
    for _ in range(5):  # a request that names nothing has no place for an error in some responses
        ticket = brokers.brokers[0].handle(drawn(drawer, api, version))
        told.add("=35" in repr(parse_response(api, version, ticket.result)[1]))
    assert True in told


def test_what_happens_to_a_request_can_be_followed(brokers, caplog):
    with caplog.at_level(logging.DEBUG, "minikafka.broker"), caplog.at_level(logging.DEBUG, "minikafka.network"):
        logging.getLogger("minikafka.broker").setLevel(logging.DEBUG)
        ticket = brokers.fetch(0, "a", 0, max_wait_ms=500, min_bytes=1)
        assert not ticket.done
        brokers.time.sleep(501)
        assert ticket.done
    lines = [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith(("minikafka.broker", "minikafka.network"))
    ]
    who = 'FETCH v12 no. 5 of "c" (User:ANONYMOUS, PLAINTEXT)'
    assert lines[0].startswith(f"{who}: arrived, ")
    assert lines[1] == f"{who}: waits for 1 bytes for at most 500 ms"
    assert lines[-1].startswith(f"{who}: answered with ") and lines[-1].endswith(
        " after 501 ms (it waited for 1 bytes for at most 500 ms)"
    )
