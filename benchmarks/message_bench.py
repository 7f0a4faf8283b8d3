"""Requests and responses from bytes and to bytes: minikafka's two codecs beside kafka-python and kio, in one run.

All get the same bytes: a Produce request with one batch of 1.1 KB, a Fetch request for ten partitions and its response,
a Metadata request and a response with 100 partitions, each in the newest version that all of them know. What is written
must be what was read. A library that is not installed is left out: `pip install kio` for the last column.
"""

import importlib.util
import io
import time

from minikafka.messages import compiled_codec, message_codec
from minikafka.messages.apis import (
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
)
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_codec import Message
from minikafka.messages.message_sink import MessageSink

ROUNDS, REPEATS = 7, 400
BATCH = bytes(range(256)) * 4 + bytes(76)
CASES: dict[str, tuple[int, Message]] = {}


def case(name: str, version: int, message: Message) -> None:
    CASES[name] = version, message


case(
    "Produce request",
    9,
    ProduceRequest(
        acks=1,
        timeout_ms=30_000,
        topic_data=[
            ProduceRequest.TopicProduceData(
                name="orders",
                partition_data=[ProduceRequest.TopicProduceData.PartitionProduceData(index=3, records=BATCH)],
            )
        ],
    ),
)
_Produced = ProduceResponse.TopicProduceResponse
case(
    "Produce response",
    9,
    ProduceResponse(
        responses=[
            _Produced(
                name="orders",
                partition_responses=[_Produced.PartitionProduceResponse(index=3, base_offset=77, log_start_offset=0)],
            )
        ]
    ),
)
_Asked = FetchRequest.FetchTopic
case(
    "Fetch request",
    12,
    FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        topics=[
            _Asked(
                topic="orders",
                partitions=[
                    _Asked.FetchPartition(partition=index, fetch_offset=1000 + index, partition_max_bytes=1 << 20)
                    for index in range(10)
                ],
            )
        ],
    ),
)
_Fetched = FetchResponse.FetchableTopicResponse
case(
    "Fetch response",
    12,
    FetchResponse(
        responses=[
            _Fetched(
                topic="orders",
                partitions=[
                    _Fetched.PartitionData(
                        partition_index=index,
                        high_watermark=2000,
                        last_stable_offset=2000,
                        log_start_offset=0,
                        records=BATCH,
                    )
                    for index in range(10)
                ],
            )
        ]
    ),
)
case(
    "Metadata request",
    9,
    MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="orders")]),
)
_Told = MetadataResponse.MetadataResponseTopic
case(
    "Metadata response",
    9,
    MetadataResponse(
        brokers=[
            MetadataResponse.MetadataResponseBroker(node_id=id, host="kafka.example.org", port=9092) for id in range(3)
        ],
        cluster_id="minikafka",
        topics=[
            _Told(
                name="orders",
                partitions=[
                    _Told.MetadataResponsePartition(
                        partition_index=index,
                        leader_id=index % 3,
                        leader_epoch=5,
                        replica_nodes=[0, 1, 2],
                        isr_nodes=[0, 1, 2],
                    )
                    for index in range(100)
                ],
            )
        ],
    ),
)


def of_minikafka(codec, version: int, message: Message):
    """How a codec of minikafka's reads and writes."""
    schema = message.schema

    def read(data: bytes):
        return codec.read_message(schema, MessageBytes(data), version)

    def write(value) -> bytes:
        sink = MessageSink()
        codec.write_message(value, sink, version)
        return bytes(sink)

    return read, write


def of_kafka_python(version: int, message: Message):
    """How kafka-python's generated messages read and write."""
    from kafka.protocol import consumer, metadata, producer

    for module in (producer, consumer, metadata):
        kind = getattr(module, message.schema.name, None)
        if kind is not None:
            return (lambda data: kind.decode(data, version=version)), (lambda value: value.encode())
    raise LookupError(message.schema.name)


def of_kio(version: int, message: Message):
    """How kio reads and writes."""
    from kio.index import load_request_schema, load_response_schema
    from kio.serial import entity_reader, entity_writer
    from kio.static.primitive import i16

    of_request = message.schema.name.endswith("Request")
    api_key = {"Produce": 0, "Fetch": 1, "Metadata": 3}[
        message.schema.name.removesuffix("Request").removesuffix("Response")
    ]
    kind = (load_request_schema if of_request else load_response_schema)(api_key, i16(version))
    read_entity, write_entity = entity_reader(kind), entity_writer(kind)

    def read(data: bytes):
        value = read_entity(data, 0)
        return value[0] if isinstance(value, tuple) else value

    def write(value) -> bytes:
        buffer = io.BytesIO()
        write_entity(buffer, value)
        return buffer.getvalue()

    return read, write


def best_us(do, argument) -> float:
    """The best time of one call over the rounds, in µs."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(REPEATS):
            do(argument)
        best = min(best, (time.perf_counter() - start) / REPEATS)
    return best * 1e6


def main() -> None:
    codecs = {
        "step by step": lambda *of: of_minikafka(message_codec, *of),
        "compiled": lambda *of: of_minikafka(compiled_codec, *of),
        "kafka-python": of_kafka_python,
        "kio": of_kio,
    }
    if importlib.util.find_spec("kio") is None:
        del codecs["kio"]
    print(f"{'µs, read / write':20} {'bytes':>6}  " + "  ".join(f"{name:>15}" for name in codecs))
    for name, (version, message) in CASES.items():
        data = of_minikafka(message_codec, version, message)[1](message)
        told = []
        for codec in codecs.values():
            read, write = codec(version, message)
            value = read(data)
            if write(value) != data:
                raise AssertionError(f"{name}: other bytes were written")
            told.append(f"{best_us(read, data):.1f} / {best_us(write, value):.1f}")
        print(f"{name:20} {len(data):6}  " + "  ".join(f"{each:>15}" for each in told))


if __name__ == "__main__":
    main()
