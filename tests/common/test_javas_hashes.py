"""Hash codes and texts as Java has them: orders of maps, partitions and messages depend on them."""

import pytest

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.java.java_hash import java_hash_code, string_hash_code
from minikafka.common.java.java_utf8 import decode_utf8
from minikafka.common.murmur2 import murmur2
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import uuid_from_string


def test_the_partition_of_a_key_is_that_of_kafka():
    """Kafka: `UtilsTest.testMurmur2`, whose numbers have a sign."""
    for text, code in {"21": -973932308, "foobar": -790332482, "a-little-bit-longer-string": -1486304829}.items():
        assert murmur2(text.encode(), 0, len(text)) == code & 0x7FFFFFFF
    assert murmur2(b"--foobar--", 2, 8) == -790332482 & 0x7FFFFFFF


def test_the_hash_of_a_partition_is_made_of_topic_and_number():
    assert java_hash_code(TopicPartition("t", 2)) == 31 * (31 + 2) + string_hash_code("t")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"a\xed\xa0\x80b", "a\ufffdb", id="a whole surrogate"),
        pytest.param(b"a\xed\xa0b", "a\ufffdb", id="half of one"),
        pytest.param(b"a\xed\xbf", "a\ufffd", id="half of one at the end"),
        pytest.param(b"\xff\xc3\xa9", "\ufffdé", id="no beginning"),
    ],
)
def test_what_is_no_utf8_is_read_as_java_reads_it(data, text):
    assert decode_utf8(data) == text


@pytest.mark.parametrize(("text", "told"), [("ab!?", "21"), ("ab\u00ff!", "-1"), ("ab\u20ac!", "3f")])
def test_a_character_that_no_id_has_is_told_as_java_tells_it(text, told):
    with pytest.raises(IllegalArgumentException, match=f"Illegal base64 character {told}$"):
        uuid_from_string(text)
