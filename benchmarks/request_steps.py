"""What a produce request with one batch of 1.1 KB (10 × 100 B) does in the broker: Python functions and instructions.

No clock is asked, so that a busy machine counts the same. Each instruction belongs to the innermost part that is named
below; a function that C code calls counts, too. acks=all, one replica, the compiled kernel, warm.

    python benchmarks/request_steps.py
"""

import socket
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from broker_bench import framed
from log_bench import SHAPES, one_batch

from minikafka.broker.broker_server import BrokerServer
from minikafka.messages.apis import ProduceRequest
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.network.api_keys import ApiKeys
from minikafka.record.kernels.record_columns import use_compiled_kernel

PARTS = {
    "SocketServer._poll": "sockets: waiting, reading",
    "Request.parse": "bytes to a request",
    "KafkaApis.handle": "KafkaApis and its handler",
    "ReplicaManager.handle_produce_append": "ReplicaManager",
    "Partition.append_records_to_leader": "Partition, high watermark",
    "Log.append_as_leader": "Log: append",
    "LogValidator.validate_messages_and_assign_offsets": "Log: validation of the records",
    "DelayedOperationPurgatory.try_complete_else_watch": "waiting for the replicas",
    "DelayedProduce.on_complete": "the answer, and its bytes",
    "RequestChannel._answer": "sockets: sending",
}
WARM = 300
COUNTED = 8  # in about every fourth request the log writes an entry of its index


class Steps:
    """Counts what runs while it is the tracer of this thread."""

    def __init__(self) -> None:
        self.functions: Counter[str] = Counter()
        self.instructions: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> "Steps":
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if event == "call":
            self.functions[_part(frame)] += 1
        elif event == "opcode":
            self.instructions[_part(frame)] += 1
        return self


def _part(frame: FrameType | None) -> str:
    while frame is not None:
        if (part := PARTS.get(frame.f_code.co_qualname)) is not None:
            return part
        frame = frame.f_back
    return "other"


def count_steps(server: BrokerServer) -> Steps:
    """The steps of `COUNTED` requests."""
    assert server.controller is not None
    server.controller.create_topics([creatable_topic("steps", assignments=[(0, [server.node_id])])])
    server.publish()
    data = ProduceRequest.TopicProduceData.PartitionProduceData(index=0, records=one_batch(SHAPES[2]))
    topics = [ProduceRequest.TopicProduceData(name="steps", partition_data=[data])]
    request = framed(ApiKeys.PRODUCE, 9, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics))
    steps = Steps()
    with socket.create_connection((server.endpoints[0].host, server.endpoints[0].port)) as client:
        server.sockets.turn()
        for number in range(WARM + COUNTED):
            client.sendall(request)
            sys.settrace(steps if number >= WARM else None)
            server.sockets._poll()
            sys.settrace(None)
            assert client.recv(1000)
    return steps


def main() -> None:
    use_compiled_kernel()
    with tempfile.TemporaryDirectory() as scratch:
        server = BrokerServer([Path(scratch, "data")], {"listeners": "PLAINTEXT://127.0.0.1:0"})
        server.start(by_hand=True)
        steps = count_steps(server)
        server.stop()
    print(f"{'':32} {'functions':>10} {'instructions':>13}")
    for part in [*PARTS.values(), "other"]:
        print(f"{part:32} {steps.functions[part] / COUNTED:10.0f} {steps.instructions[part] / COUNTED:13.0f}")
    print(f"{'in all':32} {steps.functions.total() / COUNTED:10.0f} {steps.instructions.total() / COUNTED:13.0f}")


if __name__ == "__main__":
    main()
