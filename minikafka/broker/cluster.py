"""A few brokers and their controller in one process, moved by hand: what lessons, tests and benchmarks hold."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minikafka.broker.broker import Broker
from minikafka.checkpoint.leader_epoch_checkpoint_file import EpochEntry
from minikafka.checkpoint.meta_properties import MetaProperties
from minikafka.cluster.replica_state import ReplicaState
from minikafka.common.api_error import ApiError
from minikafka.common.bytes_like import BytesLike
from minikafka.common.config_resource import ConfigResource
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    BrokerNotAvailableException,
    IllegalArgumentException,
    IllegalStateException,
    UnknownTopicOrPartitionException,
)
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.java.java_numbers import INT_MAX, INT_MIN, LONG_MAX, require_number
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import uuid_from_bytes
from minikafka.messages.apis import FetchRequest, ListOffsetsRequest, ProduceRequest
from minikafka.messages.message_codec import Message
from minikafka.metadata.configuration_control_manager import AlterConfigOp
from minikafka.metadata.controller import Controller
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.metadata.partition_change_builder import Election
from minikafka.metadata.partition_registration import PartitionRegistration
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes
from minikafka.network.request_channel import Ticket
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.default_alter_partition_manager import ControllerChannel
from minikafka.server.in_process_send import Peer
from minikafka.server.known_settings import require_known
from minikafka.server.partition_fetch_state import PartitionFetchState

PRODUCE_VERSION = 11  # calls topics by their names; from 13 on requests have ids
FETCH_VERSION = 12  # the same
LIST_OFFSETS_VERSION = 10
CLUSTER_ID = "minikafka"


class SentRequest:
    """A request on its way: `done` once it is answered, which a produce or fetch request may have to wait for."""

    def __init__(self, api_key: ApiKeys, version: int, ticket: Ticket):
        self.api_key = api_key
        self.version = version
        self._ticket = ticket

    @property
    def done(self) -> bool:
        """Whether the broker has answered, be it without words."""
        return self._ticket.done

    @property
    def result(self) -> Any:
        """The response's bytes, or why there are none (`NoBytes`). Raises IllegalStateException while it waits."""
        return self._ticket.result

    @property
    def response(self) -> Any:
        """The body of the response, as a client reads it. Raises IllegalStateException if there is none."""
        if not isinstance(self.result, bytes):
            raise IllegalStateException(f"{self.api_key.name} was answered with {self.result.name}")
        return parse_response(self.api_key, self.version, self.result)[1]

    @property
    def partition(self) -> Any:
        """The only partition in the response to a produce, fetch or list-offsets request of one partition."""
        topics = self.response.topics if self.api_key is ApiKeys.LIST_OFFSETS else self.response.responses
        (topic,) = topics
        (partition,) = topic.partition_responses if self.api_key is ApiKeys.PRODUCE else topic.partitions
        return partition


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """What one broker knows of its replica of a partition.

    - `leader`, `leader_epoch`, `partition_epoch`: as the broker was told last; `is_leader`: it leads itself.
    - `isr`, `maximal_isr`: of a leader; a follower has none. They differ while a replica is about to join.
    - Offsets: `log_start_offset`, `high_watermark`, `last_stable_offset`, and `log_end_offset`, which is exclusive.
    - `epochs`: where each leader's records begin. `remote_replicas`: what a leader knows of its followers, by broker.
    - `fetch_state`: how far a follower is; None for a leader, and for a follower that gave up.
    """

    broker_id: int
    is_leader: bool
    leader: int | None
    leader_epoch: int
    partition_epoch: int
    isr: frozenset[int]
    maximal_isr: frozenset[int]
    log_start_offset: int
    high_watermark: int
    last_stable_offset: int
    log_end_offset: int
    epochs: tuple[EpochEntry, ...]
    remote_replicas: Mapping[int, ReplicaState]
    fetch_state: PartitionFetchState | None


class Cluster:
    """Brokers with ids of the caller's choice, one controller, one clock that stands still.

    - Nothing moves by itself: a follower fetches when `follow` says so, time passes in `sleep`, a broker that crashed
      is missed when `fence` tells the controller, and it comes back by `start`.
    - What the controller decides is read by every broker at once, unless `publishes_at_once` is false: then each
      reads when `publish` says so, and may act on old news until then.
    - Requests are bytes, as on a wire: `produce`, `fetch` and `list_offsets` make them, `handle` takes any others.
    - The same calls lead to the same bytes in the directories `broker-<id>` below the given one.

    Not in Kafka, where a cluster is as many processes.
    """

    def __init__(
        self,
        directory: Path,
        *,
        settings: Mapping[str, object] | None = None,
        controller: Controller | None = None,
        eligible_leader_replicas_version: int = 1,
        start_ms: int = 0,
        line_to: Callable[[Broker], Peer] = lambda leader: leader,
        channel_of: Callable[[int], ControllerChannel | None] = lambda broker_id: None,
    ):
        """A cluster without brokers.

        - `settings` are those of every broker and of the controller, `start_ms` what the clock shows (ms since 1970).
          The controller is one of its own unless one is given.
        - `eligible_leader_replicas_version`: the feature's level in a controller of its own, 1 (Kafka's default since
          4.1) or 0: see `Controller`.
        - `line_to(leader)`: what a follower reaches when it asks its leader; a test may lose answers on the way.
        - `channel_of(broker id)`: the way on which a broker that starts will send proposals for ISRs; None: the
          controller decides at once.
        """
        self.directory = directory.absolute()  # where it stays should the process change its directory
        self.time = ManualTime(start_ms)
        self.controller = controller or Controller(
            {name: _text(value) for name, value in (settings or {}).items()},
            eligible_leader_replicas_version=eligible_leader_replicas_version,
        )
        self.brokers: dict[int, Broker] = {}
        """The brokers that run, by their ids."""
        self.publishes_at_once = True
        self._settings = dict(settings or {})
        self._line_to = line_to
        self._channel_of = channel_of
        self._incarnations = itertools.count(1)
        self._correlation_ids = itertools.count()

    # Brokers come and go

    def start(self, broker_id: int, **settings: object) -> Broker:
        """Start a broker on its directory, whatever is in it; `settings` (with `__` for dots) go before the cluster's.

        Raises IllegalArgumentException for an id that is no number from 0 on, IllegalStateException for a broker that
        runs, and ConfigException, before anything is made; DuplicateBrokerRegistrationException while the controller
        believes that its incarnation before goes on.
        """
        require_number("broker id", broker_id, 0, INT_MAX)
        if broker_id in self.brokers:
            raise IllegalStateException(f"broker {broker_id} runs already")
        log_dir = self.directory / f"broker-{broker_id}"
        given = {**self._settings, **{name.replace("__", "."): value for name, value in settings.items()}}
        require_known(given)
        BrokerConfig(
            {**given, "node.id": broker_id, "log.dirs": str(log_dir)}
        ).log_config()  # or raise, before anything
        properties = MetaProperties(CLUSTER_ID, broker_id, _an_id("directory", broker_id))
        properties.format(log_dir, self.time.milliseconds())
        broker = Broker(
            broker_id,
            [log_dir],
            self.controller,
            time=self.time,
            scheduler=ManualScheduler(self.time),
            settings=given,
            find_peer=self._find_peer,
            incarnation_id=_an_id("incarnation", next(self._incarnations)),
            cluster_id=CLUSTER_ID,
            controller_channel=self._channel_of(broker_id),
        )
        self.brokers[broker_id] = broker
        try:
            broker.startup()
        except Exception:
            self.crash(broker_id)  # lets go of the directory
            raise
        self._decided()
        return broker

    def stop(self, broker_id: int) -> None:
        """Let a broker hand over what it leads, and stop in order."""
        self._running(broker_id).shutdown()
        del self.brokers[broker_id]
        self._decided()

    def crash(self, broker_id: int) -> None:
        """Kill a broker: its files stay as they are, its requests are never answered, and nobody knows yet."""
        self._running(broker_id).crash()
        del self.brokers[broker_id]

    def fence(self, broker_id: int) -> None:
        """The controller has missed a broker for long enough: others lead from now on. Kafka: after 9 s."""
        self.controller.fence_broker(broker_id)
        self._decided()

    def restart(self, broker_id: int, **settings: object) -> Broker:
        """Start a broker that has crashed; the controller has missed it by then."""
        self.fence(broker_id)
        return self.start(broker_id, **settings)

    def publish(self, broker_id: int | None = None) -> None:
        """Let a broker (None: each) read what the controller has decided."""
        for broker in [self._running(broker_id)] if broker_id is not None else list(self.brokers.values()):
            broker.publish()

    # The controller decides

    def create_topic(self, name: str, *replicas: Sequence[int], **settings: object) -> str:
        """Make a topic, and return its id. Each of `replicas` lists the brokers of one partition, the preferred leader
        first; the settings' names have `__` for dots.

        Raises IllegalArgumentException for ids of brokers that are no numbers and a name that is no text, else the
        exception of the controller's error.
        """
        if not isinstance(name, str):
            raise IllegalArgumentException(f"the name of a topic is a text, not {name!r}")
        for broker_id in itertools.chain(*replicas):
            require_number("broker id", broker_id, INT_MIN, INT_MAX)
        configs = {key.replace("__", "."): _text(value) for key, value in settings.items()}
        topic = creatable_topic(name, assignments=enumerate(replicas), configs=configs)
        (result,) = self.controller.create_topics([topic])
        _raise_if_failed(ApiError(Errors(result.error_code), result.error_message))
        self._decided()
        return result.topic_id

    def delete_topic(self, name: str) -> None:
        """Delete a topic. Raises UnknownTopicOrPartitionException."""
        for error in self.controller.delete_topics([self._topic_id(name)]).values():
            _raise_if_failed(error)
        self._decided()

    def change_settings(self, topic: str, **settings: object) -> None:
        """Change settings of a topic (`__` for dots); None removes one. Raises the exception of the error."""
        changes = {
            name.replace("__", "."): (
                (AlterConfigOp.DELETE, "") if value is None else (AlterConfigOp.SET, _text(value))
            )
            for name, value in settings.items()
        }
        for error in self.controller.incremental_alter_configs({ConfigResource.topic(topic): changes}).values():
            _raise_if_failed(error)
        self._decided()

    def elect(self, topic: str, partition: int = 0, *, unclean: bool = False) -> None:
        """Let the preferred replica lead if it is in sync, or (`unclean`) any replica where nobody leads.

        Raises the exception of the error.
        """
        election = Election.UNCLEAN if unclean else Election.PREFERRED
        for error in self.controller.elect_leaders(election, [TopicPartition(topic, partition)]).values():
            _raise_if_failed(error)
        self._decided()

    def registration(self, topic: str, partition: int = 0) -> PartitionRegistration:
        """A partition as the controller has it. Raises UnknownTopicOrPartitionException."""
        image = self.controller.image.topics.topics_by_name.get(topic)
        if image is None or partition not in image.partitions:
            raise UnknownTopicOrPartitionException(f"there is no partition {partition} of a topic {topic!r}")
        return image.partitions[partition]

    def leader(self, topic: str, partition: int = 0) -> int:
        """Who leads a partition as the controller has it; −1: nobody."""
        return self.registration(topic, partition).leader

    # Requests

    def produce(
        self,
        topic: str,
        records: BytesLike,
        *,
        partition: int = 0,
        acks: int = -1,
        timeout_ms: int = 30_000,
        broker_id: int | None = None,
        transactional_id: str | None = None,
    ) -> SentRequest:
        """Send a batch to a partition of `topic`, to its leader unless another broker is named."""
        partitions = [ProduceRequest.TopicProduceData.PartitionProduceData(index=partition, records=records)]
        body = ProduceRequest(
            transactional_id=transactional_id,
            acks=acks,
            timeout_ms=timeout_ms,
            topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=partitions)],
        )
        return self.send(self._asked(topic, partition, broker_id), ApiKeys.PRODUCE, PRODUCE_VERSION, body)

    def fetch(
        self,
        topic: str,
        offset: int,
        *,
        partition: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = 1024 * 1024,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        leader_epoch: int = -1,
        broker_id: int | None = None,
    ) -> SentRequest:
        """Ask as a consumer for the batches of a partition from `offset` on, the leader unless another is named."""
        asked = FetchRequest.FetchTopic.FetchPartition(
            partition=partition,
            current_leader_epoch=leader_epoch,
            fetch_offset=offset,
            partition_max_bytes=max_bytes,
        )
        body = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            isolation_level=int(isolation),
            topics=[FetchRequest.FetchTopic(topic=topic, partitions=[asked])],
        )
        return self.send(self._asked(topic, partition, broker_id), ApiKeys.FETCH, FETCH_VERSION, body)

    def list_offsets(
        self, topic: str, timestamp: int = -1, *, partition: int = 0, broker_id: int | None = None
    ) -> SentRequest:
        """Ask as a consumer for the first offset of that time (ms) or a later one; −1: the end, −2: the start."""
        make_topic = ListOffsetsRequest.ListOffsetsTopic
        asked = make_topic.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        body = ListOffsetsRequest(replica_id=-1, topics=[make_topic(name=topic, partitions=[asked])], timeout_ms=30_000)
        return self.send(self._asked(topic, partition, broker_id), ApiKeys.LIST_OFFSETS, LIST_OFFSETS_VERSION, body)

    def send(self, broker_id: int, api_key: ApiKeys, version: int, body: Message) -> SentRequest:
        """Send any request to a broker; `body` is a message of `minikafka.messages.apis`."""
        request = request_bytes(api_key, version, body, correlation_id=next(self._correlation_ids), client_id="cluster")
        return SentRequest(api_key, version, self.handle(broker_id, request))

    def handle(self, broker_id: int, request: BytesLike) -> Ticket:
        """Let a broker handle the bytes of a request: header and body, without the length before them."""
        ticket = self._running(broker_id).handle(request)
        self._decided()
        return ticket

    # Time and followers

    def follow(self, broker_id: int | None = None) -> None:
        """Let the followers on a broker (None: on each) ask their leaders once."""
        for broker in [self._running(broker_id)] if broker_id is not None else list(self.brokers.values()):
            broker.follow_once()
        self._decided()

    def sleep(self, ms: int) -> None:
        """Let time pass, millisecond by millisecond, and whatever becomes due be done; `ms` is 0 or more."""
        require_number("time in ms", ms, 0, LONG_MAX)
        for _ in range(ms):
            self.time.sleep(1)
        self._decided()

    # What can be seen

    def state(self, broker_id: int, topic: str, partition: int = 0) -> ReplicaStatus | None:
        """What a running broker knows of its replica; None if it has none that is usable."""
        topic_partition = TopicPartition(topic, partition)
        manager = self._running(broker_id).replica_manager
        found = manager.online_partition(topic_partition)
        if found is None or found.log is None:
            return None
        log, fetcher = found.log, manager.replica_fetcher_manager.get_fetcher(topic_partition)
        return ReplicaStatus(
            broker_id=broker_id,
            is_leader=found.is_leader,
            leader=found.leader_replica_id,
            leader_epoch=found.leader_epoch,
            partition_epoch=found.partition_epoch,
            isr=found.partition_state.isr,
            maximal_isr=found.partition_state.maximal_isr,
            log_start_offset=log.log_start_offset,
            high_watermark=log.high_watermark,
            last_stable_offset=log.last_stable_offset,
            log_end_offset=log.log_end_offset,
            epochs=tuple(log.leader_epoch_cache.epoch_entries),
            remote_replicas={replica.broker_id: replica.state_snapshot for replica in found.remote_replicas},
            fetch_state=None if fetcher is None else fetcher.fetch_state(topic_partition),
        )

    def close(self) -> None:
        """Let go of every broker's files, as they are."""
        for broker_id in list(self.brokers):
            self.crash(broker_id)

    def _running(self, broker_id: int) -> Broker:
        """The broker, which is running. Raises BrokerNotAvailableException."""
        if broker_id not in self.brokers:
            raise BrokerNotAvailableException(f"broker {broker_id!r} does not run; those that do: {[*self.brokers]}")
        return self.brokers[broker_id]

    def _find_peer(self, broker_id: int) -> Peer | None:
        broker = self.brokers.get(broker_id)
        return None if broker is None else self._line_to(broker)

    def _decided(self) -> None:
        """Let everybody know what the controller may have decided, also because of what somebody has just learned."""
        latest = -2
        while self.publishes_at_once and self.controller.image.offset > latest:
            latest = self.controller.image.offset
            self.publish()

    def _asked(self, topic: str, partition: int, broker_id: int | None) -> int:
        return self.leader(topic, partition) if broker_id is None else broker_id

    def _topic_id(self, name: str) -> str:
        image = self.controller.image.topics.topics_by_name.get(name)
        if image is None:
            raise UnknownTopicOrPartitionException(f"there is no topic {name!r}")
        return image.id


def _an_id(what: str, number: int) -> str:
    return uuid_from_bytes(what.encode().ljust(12, b"-") + number.to_bytes(4, "big"))


def _text(value: object) -> str:
    """A setting as text, truth as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _raise_if_failed(error: ApiError) -> None:
    if (failure := error.error.exception(error.message)) is not None:
        raise failure
