"""A broker whose loop of sockets goes round only when a cell lets it, with real clients and clients made of bytes."""

import socket
import time
from collections.abc import Callable
from typing import Any

from minikafka.broker.broker_server import BrokerServer
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.lab.stage.workbench import NOON, scratch
from minikafka.messages.message_bytes import MessageBytes
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import RequestHeader
from minikafka.network.server.kafka_channel import KafkaChannel
from minikafka.network.server.socket_server import Handle

_SIZE, _KEY = 4, 2
_PATIENCE_S = 20
_SETTINGS = {"listeners": "PLAINTEXT://127.0.0.1:0", "auto.create.topics.enable": "false"}
_LISTENER, _HOST = "PLAINTEXT", "127.0.0.1"
_CLIENT_SETTINGS = {"log_level": 0, "client.id": "shop", "enable.idempotence": False, "linger.ms": 0}
_IDLE_TURNS = 2


class HandRunBroker:
    """A broker with these topics, of one partition each unless told otherwise. Nothing is read or sent but by `until`,
    `turn` and `deliver`.

    `asked`: what came so far, as pairs of API and version, without repetitions; `count`: how often each API was asked;
    `handled`: the correlation ids that came on each connection. `request`: the bytes of the request at which `until`
    has stopped, with their size in front. The broker's clock stands at noon.
    """

    def __init__(self, *topics: str, partitions: int = 1):
        self.asked: list[tuple[str, int]] = []
        self.count: dict[str, int] = {}
        self.handled: dict[str, list[int]] = {}
        self.server = BrokerServer([scratch("broker")], _SETTINGS, time=ManualTime(NOON), around=self._watched)
        self.server.start(by_hand=True)
        self.sockets = self.server.sockets
        self.server.controller.create_topics([creatable_topic(name, partitions, 1) for name in topics])
        self.server.publish()
        self.request = b""
        self._read, self.sockets._read = self.sockets._read, self._read_or_stop
        self._wanted: ApiKeys | None = None
        self._stopped_at: KafkaChannel | None = None
        self._lost = 0

    # Real clients

    def client(self, **settings: Any) -> Any:
        """A `confluent_kafka.Producer` that knows this broker; `acks=0` stands for the setting acks=0."""
        from confluent_kafka import Producer

        named = {name.replace("_", "."): value for name, value in settings.items()}
        address = f"{_HOST}:{self.server.endpoints[0].port}"
        return Producer({"bootstrap.servers": address, **_CLIENT_SETTINGS, **named})

    def send(self, client: Any, value: bytes, topic: str = "orders") -> None:
        """Let a real client send a record of noon; it goes out when the client's own thread comes to it."""
        client.produce(topic, value, partition=0, timestamp=NOON)

    def until(self, api: str) -> bytes:
        """Go round until a whole request of this API has come, and stop before it is read; its bytes."""
        self._wanted = ApiKeys[api]
        self._go_round_until(lambda: self._stopped_at is not None)
        return self.request

    def turn(self) -> None:
        """Go round once; the request at which `until` has stopped is read, and nothing else."""
        self._wanted = None
        self.sockets.turn()
        self._stopped_at = None

    def deliver(self, client: Any) -> None:
        """Go round until the client has been told of all that it sent."""
        self._wanted = self._stopped_at = None
        self._go_round_until(lambda: client.flush(0.001) == 0)

    def lose_an_answer(self) -> None:
        """The next answer to a produce request is never sent: its connection stays muted."""
        self._lost += 1

    def values(self, topic: str = "orders", partition: int = 0) -> list[str]:
        """The values of all records of a partition."""
        log = self.log(topic, partition)
        return [
            bytes(record.value).decode()
            for segment in log.log_segments
            for batch in segment.log.batches()
            for record in batch
        ]

    def log(self, topic: str = "orders", partition: int = 0) -> Any:
        """The log of a partition."""
        return self.server.broker.log_manager.get_log(TopicPartition(topic, partition))

    # Clients made of bytes

    def connect(self, name: str) -> socket.socket:
        """The client's end of a new connection called `name`."""
        client, here = socket.socketpair()
        for end in (client, here):
            end.setblocking(False)
        self.sockets.connection_quotas.inc(_LISTENER, _HOST)
        self.sockets.take(here, name, _LISTENER, _HOST)
        return client

    def settle(self) -> None:
        """Go round until nothing happens any more."""
        idle = 0
        while idle < _IDLE_TURNS:
            before = dict(self.count)
            self.sockets.turn()
            idle = idle + 1 if before == self.count else 0

    # What the loop meets

    def _read_or_stop(self, channel: KafkaChannel) -> None:
        """In the place of `SocketServer._read`: a request that is waited for is not read yet."""
        if self._stopped_at is not None and channel is not self._stopped_at:
            return
        if self._wanted is not None:
            whole = self._whole_request(channel)
            if whole is not None and int.from_bytes(whole[_SIZE : _SIZE + _KEY]) == self._wanted:
                self._stopped_at, self.request = channel, whole
                return
        self._read(channel)

    def _whole_request(self, channel: KafkaChannel) -> bytes | None:
        try:
            data = channel.socket.recv(1 << 20, socket.MSG_PEEK)
        except BlockingIOError:
            return None
        size = int.from_bytes(data[:_SIZE])
        return data[: _SIZE + size] if len(data) >= _SIZE + size > _SIZE else None

    def _watched(self, handle: Handle) -> Handle:
        """The broker's handler, behind one that notes what comes, and may lose an answer."""

        def watched(request: bytearray, channel: KafkaChannel, answer: Callable[[Any], None]) -> None:
            header = RequestHeader.read(MessageBytes(request))
            name = header.api_key.name
            if (name, header.api_version) not in self.asked:
                self.asked.append((name, header.api_version))
            self.count[name] = self.count.get(name, 0) + 1
            self.handled.setdefault(channel.id, []).append(header.correlation_id)
            is_lost = name == "PRODUCE" and self._lost > 0
            self._lost -= is_lost
            handle(request, channel, (lambda answer: None) if is_lost else answer)

        return watched

    def _go_round_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"nothing came for {_PATIENCE_S} seconds")
            self.sockets.turn()
            time.sleep(0.0005)
