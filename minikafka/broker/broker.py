"""A whole broker: its parts, put together, from registration to shutdown or crash."""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from minikafka.broker.authorizer import Authorizer
from minikafka.broker.kafka_apis import KafkaApis
from minikafka.broker.producer_id_manager import ProducerIdManager
from minikafka.broker.topic_controller import TopicController
from minikafka.common.bytes_like import BytesLike
from minikafka.common.endpoint import Endpoint
from minikafka.common.errors import IllegalArgumentException, InvalidRequestException, NullPointerException
from minikafka.common.exit import Halt, raise_fatal
from minikafka.common.file_lock import FileLock
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import Scheduler
from minikafka.common.time import Time
from minikafka.log.manager.log_manager import LogManager
from minikafka.messages.apis import AlterPartitionRequest, AlterPartitionResponse
from minikafka.messages.cluster_metadata import MetadataRecord
from minikafka.metadata.controller import ProducerIdsBlock
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.metadata.metadata_delta import MetadataDelta
from minikafka.metadata.metadata_version import SUPPORTED_FEATURES
from minikafka.network.request import ANONYMOUS, LOCALHOST, Answer, NoBytes, Request
from minikafka.network.request_channel import RequestChannel, Ticket
from minikafka.server.add_partitions_to_txn_manager import AddPartitionsToTxnManager
from minikafka.server.blocking_send import BlockingSend
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.broker_metadata_publisher import BrokerMetadataPublisher
from minikafka.server.default_alter_partition_manager import ControllerChannel, DefaultAlterPartitionManager
from minikafka.server.dynamic_broker_config import DynamicBrokerConfig
from minikafka.server.fetch_manager import FetchManager
from minikafka.server.fetch_session_cache import FetchSessionCache
from minikafka.server.in_process_send import InProcessSend, Peer
from minikafka.server.initial_fetch_state import BrokerEndPoint
from minikafka.server.replica_fetcher_manager import ReplicaFetcherManager
from minikafka.server.replica_manager import ReplicaManager

logger = logging.getLogger(__name__)

LISTENER_NAME = "PLAINTEXT"
FIRST_PORT = 9092


class ClusterController(TopicController, Protocol):
    """What a broker needs of its controller; `minikafka.metadata.controller.Controller` is one."""

    def register_broker(
        self,
        broker_id: int,
        incarnation_id: str,
        listeners: Iterable[Endpoint] = (),
        *,
        rack: str | None = None,
        log_dirs: Sequence[str] = (),
        previous_broker_epoch: int = -1,
        features: Mapping[str, tuple[int, int]] | None = None,
    ) -> int:
        """A broker has started; the result is its epoch."""

    def unfence_broker(self, broker_id: int, broker_epoch: int) -> None:
        """A broker has read the metadata log, and takes part."""

    def begin_controlled_shutdown(self, broker_id: int, broker_epoch: int) -> bool:
        """A broker wants to stop; whether it may, or has to ask again."""

    def handle_directories_offline(self, broker_id: int, broker_epoch: int, offline_dirs: Collection[str]) -> None:
        """Log directories of a broker have failed."""

    def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """A leader wants other ISRs."""

    def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> ProducerIdsBlock:
        """Ids for producers."""

    def records_after(self, offset: int) -> list[MetadataRecord]:
        """The metadata log from behind `offset` on."""


class Broker:
    """One broker, in the process of its controller, and moved by the caller's hand.

    - Nothing happens by itself: metadata is read by `publish`, the fetchers go a round by `follow_once` unless they
      have threads, what has come due is done by whoever moves the scheduler's clock.
    - `handle` takes a request as it comes over a wire; everything below it is what a socket server would find, too.
    - After `crash` nothing is written any more. The directories stay as they are, for a new broker on them.

    Simpler than Kafka: no sockets, no heartbeats (the caller tells the controller who has died), no coordinators.

    Kafka: `kafka.server.BrokerServer` with its `BrokerLifecycleManager`.
    """

    def __init__(
        self,
        broker_id: int,
        log_dirs: Sequence[Path],
        controller: ClusterController,
        *,
        time: Time,
        scheduler: Scheduler,
        settings: Mapping[str, object] | None = None,
        find_peer: Callable[[int], Peer | None] = lambda broker_id: None,
        connect: Callable[[BrokerEndPoint, int], BlockingSend] | None = None,
        fetchers_have_threads: bool = False,
        listeners: Sequence[Endpoint] = (),
        incarnation_id: str,
        cluster_id: str = "",
        controller_channel: ControllerChannel | None = None,
        authorizer: Authorizer | None = None,
        add_partitions_to_txn_manager: AddPartitionsToTxnManager | None = None,
        metadata_log_dir: Path | None = None,
        halt: Halt = raise_fatal,
        log_scheduler: Scheduler | None = None,
        cleaner_scheduler: Scheduler | None = None,
        timer_scheduler: Scheduler | None = None,
        held_locks: Iterable[FileLock] = (),
    ):
        """A broker that has not started: its log directories are made and locked, and nothing is read.

        - `scheduler`: this broker's own; it ends with the broker, as does `log_scheduler`, where logs are flushed and
          what is old is deleted; None: on `scheduler`.
        - `settings`: by Kafka's names; `node.id` and the log directories are added.
        - `find_peer(id)`: another broker, None while it is down. `incarnation_id`: another one at every start.
        - `connect(leader, fetcher_id)`: a fetcher's connection to a leader; None for one in this process, to the broker
          that `find_peer` finds.
        - `fetchers_have_threads`: whether fetchers go round by themselves, on the machine's clock; `connect` then waits
          for answers, as `BrokerBlockingSender` does.
        - `listeners`: where clients reach this broker, as the controller is told; requests come through the first
          unless they name another. Without any: PLAINTEXT on localhost, at 9092 and its id.
        - `controller_channel`: the way on which proposals for ISRs go, None to ask the controller at once.
        - `add_partitions_to_txn_manager`: the way to transaction coordinators. Without one, transactional batches are
          refused unless `transaction.partition.verification.enable` is false.
        - `metadata_log_dir`: that of `log_dirs` which has the metadata log of this process in it, None if none has.
        - `halt(fatal)`: what happens where Kafka halts the process, since the broker cannot go on: log directories have
          failed, all of them or that of the metadata log.
        - `cleaner_scheduler`: where logs are compacted, `timer_scheduler`: where requests that have waited long enough
          are answered; None: on `scheduler`.
        - `held_locks`: locks on log directories that the caller has taken, and gives away (`lock_log_dir`).

        Raises what a log manager raises for directories that cannot be used, ConfigException, and
        IllegalArgumentException for settings that contradict each other.
        """
        self.broker_id = broker_id
        self.broker_epoch = -1
        """The epoch of the latest registration, −1 before the first. Kafka: `BrokerLifecycleManager.brokerEpoch`."""
        self.is_running = False
        self.listeners = tuple(listeners) or (Endpoint(LISTENER_NAME, "localhost", FIRST_PORT + broker_id),)
        self._controller = controller
        self._fetchers_have_threads = fetchers_have_threads
        self._incarnation_id = incarnation_id
        self.time = time
        self._scheduler, self._log_scheduler = scheduler, log_scheduler or scheduler
        self.config = BrokerConfig(
            {**(settings or {}), "node.id": broker_id, "log.dirs": ",".join(str(log_dir) for log_dir in log_dirs)}
        )
        names = [listener.listener_name for listener in self.listeners]
        if self.config.inter_broker_listener_name not in names:
            raise IllegalArgumentException(
                "requirement failed: inter.broker.listener.name must be a listener name defined in "
                f"advertised.listeners. The valid options based on currently configured listeners are {','.join(names)}"
            )
        # 1. What is known of the cluster: nothing yet.
        self.metadata_cache = MetadataCache(broker_id)
        # 2. The logs.
        failures = LogDirFailureChannel(len(log_dirs))
        self.log_manager = _log_manager(
            self.config,
            log_dirs,
            self.metadata_cache,
            self._log_scheduler,
            cleaner_scheduler,
            time,
            failures,
            held_locks,
        )
        # 3. The ways to the controller, and to the leaders.
        epoch = self._epoch
        self.alter_partition_manager = DefaultAlterPartitionManager(
            controller_channel or _DirectChannel(controller), scheduler, broker_id, epoch
        )

        def connect_in_process(leader: BrokerEndPoint, fetcher_id: int) -> InProcessSend:
            return InProcessSend(leader, f"broker-{broker_id}-fetcher-{fetcher_id}", find_peer)

        def create_replica_fetcher_manager(replica_manager: ReplicaManager) -> ReplicaFetcherManager:
            return ReplicaFetcherManager(
                *(self.config, replica_manager, time, epoch, connect or connect_in_process),
                has_threads=fetchers_have_threads,
            )

        # 4. The replicas, and who tells them what to be.
        try:
            self.replica_manager = ReplicaManager(
                self.config,
                time,
                scheduler,
                self.log_manager,
                self.metadata_cache,
                failures,
                self.alter_partition_manager,
                create_replica_fetcher_manager,
                broker_epoch_supplier=epoch,
                on_log_dir_failure=lambda directory_id: controller.handle_directories_offline(
                    broker_id, epoch(), [directory_id]
                ),
                add_partitions_to_txn_manager=add_partitions_to_txn_manager,
                metadata_log_dir=metadata_log_dir and metadata_log_dir.absolute(),
                halt=halt,
                timer_scheduler=timer_scheduler,
            )
        except BaseException:
            self.log_manager.let_go()
            raise
        self.dynamic_config = DynamicBrokerConfig(
            self.config, lambda changed: self.log_manager.update_default_config(changed.log_config())
        )
        self._publisher = BrokerMetadataPublisher(
            self.config, self.dynamic_config, self.metadata_cache, self.log_manager, self.replica_manager
        )
        self._publishing = threading.RLock()  # held by whoever reads the metadata log
        # 5. What takes requests, and the fetch sessions of readers.
        self.request_channel = RequestChannel(time)
        self.fetch_manager = FetchManager(
            time, FetchSessionCache.with_slots(self.config.max_incremental_fetch_session_cache_slots)
        )
        self.apis = KafkaApis(
            self.request_channel,
            self.replica_manager,
            self.metadata_cache,
            self.config,
            self.dynamic_config,
            controller,
            ProducerIdManager(lambda: controller.allocate_producer_ids(broker_id, epoch())),
            self.fetch_manager,
            authorizer=authorizer,
            cluster_id=cluster_id,
        )

    def startup(self) -> None:
        """Register, read the metadata log, load the logs, and take part.

        Whoever has something to do in between calls `register`, `publish` and `unfence`.
        Raises what the controller and the log manager raise. Kafka: `BrokerServer.startup`.
        """
        # 1. A new incarnation, with a new epoch.
        self.register()
        # 2. What has been decided meanwhile; logs are loaded, and replicas get their roles.
        self.publish()
        # 3. Ready; and that is read, too.
        self.unfence()

    def register(self) -> None:
        """Begin a new incarnation, with a new epoch; the controller is told how the last one ended.

        Raises what the controller raises. Kafka: `BrokerLifecycleManager`, its request BrokerRegistration.
        """
        previous_epoch = self.log_manager.read_broker_epoch_from_clean_shutdown_files()
        self.broker_epoch = self._controller.register_broker(
            self.broker_id,
            self._incarnation_id,
            self.listeners,
            rack=self.config.rack,
            log_dirs=sorted(self.log_manager.log_dirs.directory_ids.values()),
            previous_broker_epoch=-1 if previous_epoch is None else previous_epoch,
            features=SUPPORTED_FEATURES,
        )

    def unfence(self) -> None:
        """Take part from now on, and read that, too.

        Raises what the controller raises. Kafka: `BrokerLifecycleManager.setReadyToUnfence`.
        """
        self.is_running = True
        self._controller.unfence_broker(self.broker_id, self.broker_epoch)
        self.publish()

    def publish(self, up_to: int | None = None) -> None:
        """Read what is new in the metadata log, up to the record at offset `up_to` (inclusive; None: all).

        Kafka: `MetadataLoader`, `BrokerMetadataPublisher.onMetadataUpdate`.
        """
        with self._publishing:
            image = self.metadata_cache.image
            records = self._controller.records_after(image.offset)
            if up_to is not None:
                records = records[: max(up_to - image.offset, 0)]
            if records:
                delta = MetadataDelta(image).replay_all(records)
                self._publisher.on_metadata_update(delta, delta.apply())

    def handle(
        self,
        request: BytesLike,
        *,
        principal: str = ANONYMOUS,
        client_address: str = LOCALHOST,
        listener_name: str | None = None,
    ) -> Ticket:
        """Take a request of somebody in the same process; the ticket holds the answer, now or later.

        `request`, `principal`, `client_address`: as `receive` takes them; `listener_name`: None for the first listener.
        """
        ticket = Ticket()
        ticket.request = self.receive(
            request, ticket.answer, listener_name or self.listeners[0].listener_name, client_address, principal
        )
        return ticket

    def receive(
        self,
        request: BytesLike,
        answer_to: Callable[[Answer], object],
        listener_name: str,
        client_address: str,
        principal: str = ANONYMOUS,
    ) -> Request | None:
        """Serve a request (header and body, without the length in front), and return it as it was read.

        `listener_name`, `client_address`, `principal`: through which listener it came, from where, and who asks.
        `answer_to(answer)` is called once, now or later, maybe in another thread.

        Bytes that are no request, and APIs that brokers do not listen to, close the connection; the result is None.
        Kafka: `SocketServer`, `KafkaRequestHandler`, `KafkaApis.handle`.
        """
        try:
            parsed = Request.parse(
                request, answer_to, self.time.milliseconds(), principal, listener_name, client_address
            )
        except InvalidRequestException as error:
            logger.info("Closing a connection because of a bad request: %s", error)
            answer_to(NoBytes.CLOSE)
            return None
        try:
            self.apis.handle(parsed)
        except NullPointerException:  # a produce request without records, which Kafka leaves without an answer
            logger.exception("Exception when handling request")
        return parsed

    def follow_once(self) -> None:
        """Let each of the fetchers go one round. Kafka: `ReplicaFetcherThread.doWork`, in a thread of each."""
        self.replica_manager.replica_fetcher_manager.do_work()

    def shutdown(self) -> None:
        """Hand over what this broker leads, then stop in order: the next start finds a clean shutdown.

        What goes wrong with one part, because its disk has failed, is logged, and the others stop in order.
        Kafka: `BrokerServer.shutdown`.
        """
        # 1. Others lead from now on.
        self.replica_manager.begin_controlled_shutdown()
        swallow(self._hand_over, "Got unexpected exception waiting for controlled shutdown")
        # 2. No more requests, and nothing in the background.
        self.is_running = False
        self._scheduler.shutdown()
        self._log_scheduler.shutdown()
        # 3. The replicas write down their high watermarks, the logs all they have.
        swallow(self.replica_manager.shutdown, "Stopping the replicas has failed")
        swallow(lambda: self.log_manager.shutdown(self.broker_epoch), "Stopping the logs has failed")

    def _hand_over(self) -> None:
        while not self._controller.begin_controlled_shutdown(self.broker_id, self.broker_epoch):
            self.publish()

    def crash(self) -> None:
        """End at once, as by kill -9: files and locks are let go, and nothing is written. Not in Kafka."""
        self.is_running = False
        self._scheduler.shutdown()
        self._log_scheduler.shutdown()
        if self._fetchers_have_threads:
            self.replica_manager.replica_fetcher_manager.shutdown()
        self.log_manager.let_go()

    def _epoch(self) -> int:
        return self.broker_epoch


def swallow(part: Callable[[], object], message: str) -> None:
    """Stop a part of a broker; what it raises is logged, so that the other parts stop, too. Kafka: `Utils.swallow`."""
    try:
        part()
    except Exception as error:
        logger.warning("%s: %s: %s", message, type(error).__name__, error)


class _DirectChannel:
    """Asks the controller in the same moment."""

    def __init__(self, controller: ClusterController):
        self._controller = controller

    def send_request(
        self, request: AlterPartitionRequest, on_complete: Callable[[AlterPartitionResponse], object]
    ) -> None:
        on_complete(self._controller.alter_partition(request))


def _log_manager(
    config: BrokerConfig,
    log_dirs: Sequence[Path],
    metadata_cache: MetadataCache,
    scheduler: Scheduler,
    cleaner_scheduler: Scheduler | None,
    time: Time,
    failures: LogDirFailureChannel,
    held_locks: Iterable[FileLock],
) -> LogManager:
    """Kafka: `LogManager.apply`."""
    get = config.get_int
    return LogManager(
        log_dirs,
        config_repository=metadata_cache,
        initial_default_config=config.log_config(),
        scheduler=scheduler,
        time=time,
        log_dir_failure_channel=failures,
        cleaner_config=config.cleaner_config(),
        cleaner_scheduler=cleaner_scheduler,
        recovery_threads_per_data_dir=get("num.recovery.threads.per.data.dir"),
        flush_check_ms=get("log.flush.scheduler.interval.ms"),
        flush_recovery_offset_checkpoint_ms=get("log.flush.offset.checkpoint.interval.ms"),
        flush_start_offset_checkpoint_ms=get("log.flush.start.offset.checkpoint.interval.ms"),
        retention_check_ms=get("log.retention.check.interval.ms"),
        initial_task_delay_ms=get("log.initial.task.delay.ms"),
        max_transaction_timeout_ms=get("transaction.max.timeout.ms"),
        producer_state_manager_config=config.producer_state_manager_config(),
        producer_id_expiration_check_interval_ms=get("producer.id.expiration.check.interval.ms"),
        stop_at_os_errors=True,  # at which Kafka empties sound segments: it has other replicas
        held_locks=held_locks,
    )
