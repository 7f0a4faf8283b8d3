"""The bytes of numbers in messages."""

import pytest

from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_sink import MessageSink


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (127, "7f"), (128, "8001"), (16_383, "ff7f"), (16_384, "808001"), (2**31 - 1, "ffffffff07")],
)
def test_numbers_without_a_sign_have_kafkas_bytes(value, data):
    """Kafka: `ByteUtilsTest.testUnsignedVarintSerde`. Lengths are such numbers: a text of 127 bytes has the 128."""
    sink = MessageSink()
    sink.write_unsigned_varint(value)
    assert bytes(sink).hex() == data
    assert MessageBytes(bytes(sink)).read_unsigned_varint() == value
