"""The documentation names the lists that are compared in any order; a comparison is blind to their order alone."""

import re
from pathlib import Path

from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import response_class
from minikafka.witness.unordered_lists import UNORDERED, sort_unordered

ROOM = Path(__file__).parents[2] / "docs" / "rooms" / "broker.md"
ROW = re.compile(r"^\| (\w+) \| (`.*`) \|", re.M)
Response = response_class(ApiKeys.LIST_OFFSETS)


def test_the_table_of_the_documentation():
    documented = {name: re.findall(r"`([\w.]+)`", fields) for name, fields in ROW.findall(ROOM.read_text("utf-8"))}
    assert documented == {api_key.message_name: list(fields) for api_key, fields in UNORDERED.items()}


def offsets(**topics):
    topic = Response.ListOffsetsTopicResponse
    return Response(
        topics=[
            topic(
                name=name,
                partitions=[topic.ListOffsetsPartitionResponse(partition_index=each, offset=7) for each in indexes],
            )
            for name, indexes in topics.items()
        ]
    )


def sorted_(response):
    sort_unordered(ApiKeys.LIST_OFFSETS, response)
    return response


def test_order_is_no_difference_and_everything_else_is():
    once = offsets(a=[1, 0], b=[2])
    assert once != offsets(b=[2], a=[0, 1])
    assert sorted_(once) == sorted_(offsets(b=[2], a=[0, 1]))
    assert sorted_(once) != sorted_(offsets(b=[2, 2], a=[0, 1]))
    assert sorted_(once) != sorted_(offsets(b=[2], a=[0, 1], c=[]))
