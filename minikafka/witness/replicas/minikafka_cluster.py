"""minikafka's brokers with the names of `KafkaCluster`: both can be done the same things to, and show the same."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from minikafka.broker.broker import Broker
from minikafka.cluster.partition import Partition
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log import Log
from minikafka.messages.apis import AlterPartitionRequest, AlterPartitionResponse
from minikafka.messages.cluster_metadata import MetadataRecord
from minikafka.network.request import NoBytes
from minikafka.network.request_channel import Ticket
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.server.replica_manager import ReplicaManager

_NO_BYTES = {NoBytes.NO_RESPONSE: "none", NoBytes.CLOSE: "close"}


class MinikafkaCluster:
    """minikafka's brokers, each on a log directory of its own; see `KafkaCluster` for what the methods do."""

    def __init__(self, directory: Path, start_ms: int):
        self._directory = directory
        self._time = ManualTime(start_ms)
        self._brokers: dict[int, _Broker] = {}
        self._open: dict[int, Ticket | _Appended] = {}
        self._tickets = 0

    # Brokers

    def start(self, broker_id: int, broker_epoch: int, settings: Mapping[str, object]) -> None:
        self._brokers[broker_id] = _Broker(broker_id, broker_epoch, settings, self._time, self._peer)

    def _peer(self, broker_id: int) -> Broker | None:
        running = self._brokers.get(broker_id)
        return None if running is None else running.broker

    def crash(self, broker_id: int) -> None:
        self._brokers.pop(broker_id).broker.crash()

    def stop(self, broker_id: int) -> None:
        self._brokers.pop(broker_id).broker.shutdown()

    def publish(self, broker_id: int, records: Sequence[MetadataRecord]) -> None:
        self._brokers[broker_id].records += records
        self._brokers[broker_id].broker.publish()

    def replica_manager(self, broker_id: int) -> ReplicaManager:
        return self._brokers[broker_id].broker.replica_manager

    # Requests

    def handle(self, broker_id: int, request: bytes) -> int:
        number = self._next_ticket()
        self._open[number] = self._brokers[broker_id].broker.handle(bytearray(request))
        return number

    def append(
        self, broker_id: int, entries: Mapping[str, bytes], acks: int, timeout_ms: int, internal: bool, origin: str
    ) -> int:
        number, appended = self._next_ticket(), _Appended()
        self._open[number] = appended
        broker = self._brokers[broker_id].broker
        records = {}
        for name, data in entries.items():
            partition = _topic_partition(name)
            topic_id = broker.metadata_cache.get_topic_id(partition.topic)
            records[TopicIdPartition(topic_id, partition)] = MemoryRecords.readable_records(bytearray(data))
        version = 0 if origin == "COORDINATOR" else -1
        broker.replica_manager.append_records(
            timeout_ms, acks, internal, AppendOrigin[origin], records, appended.answer, transaction_version=version
        )
        broker.replica_manager.try_complete_actions()
        return number

    def take_answers(self) -> dict[int, object]:
        answered = {number: ticket.result for number, ticket in self._open.items() if ticket.done}
        for number in answered:
            del self._open[number]
        return {
            number: _NO_BYTES[answer] if isinstance(answer, NoBytes) else answer for number, answer in answered.items()
        }

    def _next_ticket(self) -> int:
        self._tickets += 1
        return self._tickets

    # Time, followers, checkpoints

    def sleep(self, ms: int) -> None:
        end = self._time.milliseconds() + ms
        while (now := self._time.milliseconds()) < end:
            due = (broker.scheduler.next_due_ms for broker in self._brokers.values())
            self._time.set_current_time_ms(min([end, *(each for each in due if each is not None and each > now)]))

    def follow(self, broker_id: int) -> None:
        self._brokers[broker_id].broker.follow_once()

    def checkpoint(self, broker_id: int) -> None:
        self.replica_manager(broker_id).checkpoint_high_watermarks()

    def truncate(self, broker_id: int, partition: str, offset: int) -> None:
        online = self.replica_manager(broker_id).online_partition(_topic_partition(partition))
        if online is not None:
            online.truncate_to(offset)

    # The controller's side

    def alter_partition(self, broker_id: int) -> AlterPartitionRequest | None:
        return self._brokers[broker_id].request

    def answer_alter_partition(self, broker_id: int, response: AlterPartitionResponse) -> None:
        self._brokers[broker_id].answer(response)

    # What can be seen

    def state(self, broker_id: int) -> dict:
        return self._brokers[broker_id].state()


class _Appended:
    """The answer to an append that was no request."""

    def __init__(self) -> None:
        self.done = False
        self.result: object = None

    def answer(self, status) -> None:
        self.done = True
        self.result = {
            str(partition.topic_partition): [
                int(response.error),
                response.base_offset,
                response.log_append_time,
                response.log_start_offset,
            ]
            for partition, response in status.items()
        }


_WITHOUT_SESSIONS = {"max.incremental.fetch.session.cache.slots": "0"}
"""As `KafkaCluster` has it: ids of sessions are drawn by chance, so that answers could not be compared."""


class _Broker:
    """A broker, with what stands for its controller: metadata comes and proposals go when the workload says so."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: int,
        settings: Mapping[str, object],
        time: ManualTime,
        find_peer: Callable[[int], Broker | None],
    ):
        self.scheduler = ManualScheduler(time)
        self.records: list[MetadataRecord] = []
        self.request: AlterPartitionRequest | None = None
        self._on_complete: Callable[[AlterPartitionResponse], object] | None = None
        self._broker_epoch = broker_epoch
        self.broker = Broker(
            broker_id,
            [Path(directory) for directory in str(settings["log.dirs"]).split(",")],
            self,
            time=time,
            scheduler=self.scheduler,
            settings={
                **_WITHOUT_SESSIONS,
                **{name: str(value) for name, value in settings.items() if name != "log.dirs"},
            },
            find_peer=find_peer,
            incarnation_id="",
            cluster_id="minikafka",
            controller_channel=self,
        )
        self.broker.startup()

    # What the broker asks of its controller

    def register_broker(self, *_args: object, **_kwargs: object) -> int:
        return self._broker_epoch  # the workload's controller has written the registration

    def unfence_broker(self, broker_id: int, broker_epoch: int) -> None:
        """It was registered unfenced."""

    def begin_controlled_shutdown(self, broker_id: int, broker_epoch: int) -> bool:
        return True

    def records_after(self, offset: int) -> list[MetadataRecord]:
        return self.records[offset + 1 :]

    def send_request(
        self, request: AlterPartitionRequest, on_complete: Callable[[AlterPartitionResponse], object]
    ) -> None:
        self.request, self._on_complete = request, on_complete

    def answer(self, response: AlterPartitionResponse) -> None:
        on_complete, self.request, self._on_complete = self._on_complete, None, None
        assert on_complete is not None
        on_complete(response)

    # What can be seen

    def state(self) -> dict:
        manager = self.broker.replica_manager
        purgatories = (
            manager.delayed_produce_purgatory,
            manager.delayed_fetch_purgatory,
            manager.delayed_delete_records_purgatory,
        )
        partitions = {str(each.topic_partition): self._describe(each) for each in manager.online_partitions()}
        return {"partitions": partitions, "waiting": [purgatory.num_delayed for purgatory in purgatories]}

    def _describe(self, partition: Partition) -> dict:
        state = partition.partition_state
        fetchers = self.broker.replica_manager.replica_fetcher_manager
        return {
            "leader": partition.leader_replica_id,
            "leader_epoch": partition.leader_epoch,
            "leader_epoch_start_offset": partition.leader_epoch_start_offset,
            "partition_epoch": partition.partition_epoch,
            "state": type(state).__name__,
            "isr": sorted(state.isr),
            "maximal_isr": sorted(state.maximal_isr),
            "replicas": {
                str(replica.broker_id): _replica(replica.state_snapshot)
                for replica in sorted(partition.remote_replicas, key=lambda replica: replica.broker_id)
            },
            "log": None if partition.log is None else _log(partition.log),
            "fetch": self._fetch_state(partition.topic_partition),
            "failed": fetchers.failed_partitions.contains(partition.topic_partition),
        }

    def _fetch_state(self, partition: TopicPartition) -> list | None:
        fetchers = self.broker.replica_manager.replica_fetcher_manager.fetcher_thread_map
        for key in sorted(fetchers, key=lambda key: (key.fetcher_id, key.broker_id)):
            if (state := fetchers[key].fetch_state(partition)) is not None:
                return [
                    key.fetcher_id,
                    key.broker_id,
                    state.fetch_offset,
                    _or_minus_one(state.lag),
                    state.current_leader_epoch,
                    state.state.name.capitalize(),
                    _or_minus_one(state.last_fetched_epoch),
                ]
        return None


def _replica(state) -> list:
    end = state.log_end_offset_metadata
    return [
        [end.message_offset, end.segment_base_offset, end.relative_position_in_segment],
        state.log_start_offset,
        state.last_fetch_leader_log_end_offset,
        state.last_fetch_time_ms,
        state.last_caught_up_time_ms,
        _or_minus_one(state.broker_epoch),
    ]


def _log(log: Log) -> list:
    epochs = [[entry.epoch, entry.start_offset] for entry in log.leader_epoch_cache.epoch_entries]
    return [log.log_start_offset, log.high_watermark, log.last_stable_offset, log.log_end_offset, epochs]


def _or_minus_one(value: int | None) -> int:
    return -1 if value is None else value


def _topic_partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))
