"""The broker that a test holds."""

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType

from minikafka.common.bytes_like import plain_bytes
from minikafka.common.error_codes import Errors
from minikafka.common.errors import IllegalArgumentException, IllegalStateException
from minikafka.common.java.java_numbers import INT_MAX, require_number
from minikafka.common.own_process import OwnProcess
from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys
from minikafka.network.request import NoBytes
from minikafka.testing.injected_answers import Injected
from minikafka.testing.node import Kept, KeyAndValue, LocalNode, Node
from minikafka.testing.node_process import NodeProcess

_HOST = "127.0.0.1"
_LARGEST_PORT = 65535
_LONGEST_DELAY_MS = 7 * 24 * 3600 * 1000
_LATEST_MS = 253_402_300_799_999  # the end of the year 9999


class Broker:
    """A broker of one node on a free port of this machine, and what a test wants of it.

    - `stop` and `start` it, or `kill` it, as often as you like: topics and records are there again, at the same port.
    - `directory` holds the files that Kafka would have written. One of its own is deleted at the end of the block.
    - A process that is forked in the block may be a client. It can do nothing else, and its end ends nothing.
    - When the disk of its directory has failed it ends by itself, as Kafka does. Then IllegalStateException says why,
      until it is stopped and started anew.
    - Topics that a client names are made, as by Kafka's default; `{"auto.create.topics.enable": "false"}` forbids it.
    - `answer` and `delay` make it fail; `advance` moves its clock. What they have done is over when it stops, but for
      the clock, which stays where it is.
    """

    def __init__(
        self,
        directory: Path | str | None = None,
        *,
        topics: Mapping[str, int] | None = None,
        records: Mapping[str | tuple[str, int], Iterable[bytes | KeyAndValue]] | None = None,
        settings: Mapping[str, str] | None = None,
        port: int = 0,
        clock_ms: int | None = None,
        process: bool = False,
    ):
        """A broker that has not started.

        - `topics`: the number of partitions, by name. A topic of an old directory keeps those that it has.
        - `records`: values, or keys with values, by topic (its partition 0) or by topic and partition. They are
          appended at the first start. A topic that `topics` does not name gets as many partitions as its records need.
          Partitions of a `directory` that is there already must be empty for that.
        - `settings`: by Kafka's names. `port`: 0 for any that is free.
        - `clock_ms`: when the broker's clock stands, in ms since 1970, until `advance` moves it, and with it retention
          and compaction; None: it is the machine's.
        - `process`: whether it runs in a process of its own; then `kill` is a real kill -9.

        Raises IllegalArgumentException for a port or a time that is no such number. `start` raises ConfigException for
        settings that Kafka does not know or refuses, and IllegalArgumentException for `records` of a partition that has
        some.
        """
        require_number("port", port, 0, _LARGEST_PORT)
        if clock_ms is not None:
            require_number("clock_ms", clock_ms, 0, _LATEST_MS)
        self._temporary = directory is None
        self.directory = Path(tempfile.mkdtemp(prefix="minikafka-")) if directory is None else Path(directory)
        self._seeds: dict[tuple[str, int], list[KeyAndValue]] = {}
        for key, values in (records or {}).items():
            of_partition = self._seeds.setdefault((key, 0) if isinstance(key, str) else key, [])
            of_partition.extend(map(_key_and_value, values))
        self._topics = dict(topics or {})
        for topic, partition in self._seeds:
            if topic not in (topics or {}):
                self._topics[topic] = max(self._topics.get(topic, 0), partition + 1)
        self._settings = dict(settings or {})
        self._port = port
        self._clock_ms = clock_ms
        self._moved_ms = 0
        self._process = process
        self._node: Node | None = None
        self._own_process = OwnProcess()

    def __enter__(self) -> "Broker":
        try:
            self.start()
        except BaseException:
            self._tidy_up()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._own_process.is_this:
            return  # a process that was forked inside the block ends: broker and files are the other one's
        try:
            if self._node is not None:
                self.stop()
        finally:
            self._tidy_up()

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect. Raises IllegalStateException while the broker is down."""
        self._running()
        return f"{_HOST}:{self._port}"

    # Its life

    def start(self) -> None:
        """Start it, and make the topics that are missing.

        Raises what `BrokerServer.start` raises, and IllegalStateException when it runs already.
        """
        if self._node is not None:
            raise IllegalStateException("The broker runs already")
        settings = {"listeners": f"PLAINTEXT://{_HOST}:{self._port}", **self._settings}
        node: Node = (NodeProcess if self._process else LocalNode)(self.directory, settings, self._clock_ms)
        _, self._port = node.start()
        try:
            if self._moved_ms:
                node.advance(self._moved_ms)
            self._seed(node)
        except BaseException:
            node.stop()
            raise
        self._node = node

    def stop(self) -> None:
        """Stop it in order. Raises IllegalStateException when it is down."""
        node, self._node = self._own(), None
        node.stop()

    def kill(self) -> None:
        """End it as kill -9 does: nothing more is written. Raises IllegalStateException when it is down."""
        node, self._node = self._own(), None
        node.kill()

    # Topics and records

    def create_topic(self, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> None:
        """Make a topic. Raises what a client would be told: TopicExistsException, InvalidConfigurationException, …"""
        self._own().create_topic(name, partitions, settings or {})

    def append(
        self,
        topic: str,
        partition: int,
        *values: bytes | None,
        key: bytes | None = None,
        timestamp_ms: int | None = None,
    ) -> int:
        """Append records with these values as one batch, as a producer does; the offset of the first one.

        `timestamp_ms`: of all of them, in ms since 1970; None: what the broker's clock shows. Nothing that was injected
        is in the way. Raises what a producer would be told, such as UnknownTopicOrPartitionException.
        """
        return self._own().append(topic, partition, [_key_and_value((key, value)) for value in values], timestamp_ms)

    def records(self, topic: str, partition: int) -> list[Kept]:
        """All records of a partition from its log start on, in order.

        Raises UnknownTopicOrPartitionException, and OffsetOutOfRangeException where records are deleted meanwhile.
        """
        return self._own().records(topic, partition)

    # What goes wrong, and time

    def answer(self, api: ApiKeys, what: Injected, times: int | None = 1) -> None:
        """Answer the next `times` requests of clients for `api` in place of the broker; None: all that come.

        `what`: an error, which stands where a response to `api` has its errors; a response of
        `minikafka.messages.apis`; NoBytes.NO_RESPONSE, which leaves the client waiting, or NoBytes.CLOSE, which ends
        its connection. Several of one API are used one behind the other.

        Raises IllegalArgumentException for what is none of these, the response of another API, a number of times below
        1, and a response with `process=True`.
        """
        _require_api(api)
        if what is Errors.NONE or not isinstance(what, Errors | Message | NoBytes):
            raise IllegalArgumentException(
                f"{what!r} is no error, no response of minikafka.messages.apis and no NoBytes"
            )
        _require_times(times)
        self._own().answer(api, what, times)

    def delay(self, api: ApiKeys, ms: int, times: int | None = None) -> None:
        """Hold back the answers to the next `times` requests for `api` by `ms` of the machine's time; None: to all.

        Raises IllegalArgumentException for what is no API, no time and no number of times.
        """
        _require_api(api)
        require_number("ms", ms, 0, _LONGEST_DELAY_MS)
        _require_times(times)
        self._own().delay(api, ms, times)

    def clear_injected(self) -> None:
        """Answer as a broker again, and at once."""
        self._own().clear_injected()

    def advance(self, ms: int) -> None:
        """Move the broker's clock, and let it do what has become due: retention, compaction, flushes, what waits for
        its time.

        A task that comes again and again is done once, however far the clock has moved. Raises
        IllegalArgumentException for what is no whole number from 0 on.
        """
        require_number("ms", ms, 0, _LATEST_MS)
        self._own().advance(ms)
        self._moved_ms += ms

    @property
    def now_ms(self) -> int:
        """What the broker's clock shows, in ms since 1970."""
        return self._own().now_ms()

    def _tidy_up(self) -> None:
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _seed(self, node: Node) -> None:
        # 1. Nothing is changed if the partition of some records has some already.
        for (topic, partition), records in self._seeds.items():
            if records and node.has_topic(topic) and node.records(topic, partition):
                raise IllegalArgumentException(
                    f"{topic}-{partition} in {self.directory} has records already, and `records` would append more: "
                    "take an empty directory, or leave `records` away"
                )
        # 2. Topics that are missing, and the records.
        for name, partitions in self._topics.items():
            if not node.has_topic(name):
                node.create_topic(name, partitions, {})
        for (topic, partition), records in list(self._seeds.items()):
            if records:
                node.append(topic, partition, records, None)
            del self._seeds[topic, partition]

    def _own(self) -> Node:
        """The running node, for the process that started it. Raises IllegalStateException and KafkaStorageException."""
        node = self._running()
        self._own_process.require("The broker in", self.directory)
        return node

    def _running(self) -> Node:
        if self._node is None:
            raise IllegalStateException("The broker is down: start it, or use it inside the `with` block")
        return self._node


def _require_api(api: object) -> None:
    if not isinstance(api, ApiKeys):
        raise IllegalArgumentException(f"{api!r} is no ApiKeys: ApiKeys.PRODUCE, for instance, is one")


def _require_times(times: object) -> None:
    if times is not None:
        require_number("times", times, 1, INT_MAX)


def _key_and_value(record: bytes | KeyAndValue) -> KeyAndValue:
    key, value = record if isinstance(record, tuple) else (None, record)
    return plain_bytes(key), plain_bytes(value)
