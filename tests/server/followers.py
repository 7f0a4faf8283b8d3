"""A follower and its leader, both with real logs, the rest made by hand."""

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.cluster.fetch_params import FetchRequestPartitionData
from minikafka.common.error_codes import Errors
from minikafka.common.errors import OffsetOutOfRangeException, UnknownTopicOrPartitionException
from minikafka.common.offset_and_epoch import OffsetAndEpoch
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.server.failed_partitions import FailedPartitions
from minikafka.server.fetch_partition_data import FetchPartitionData
from minikafka.server.initial_fetch_state import BrokerEndPoint, InitialFetchState
from minikafka.server.leader_end_point import ReplicaFetch
from minikafka.server.replica_fetcher import ReplicaFetcher

LEADER = BrokerEndPoint(0, "localhost", 9092)
BACKOFF_MS = 1000
NOT_SENT = object()


class Followed:
    """A follower's partition. Kafka: `Partition`."""

    def __init__(self, log):
        self.local_log_or_exception = log
        self.cuts = []  # offsets, negative and one less for a full truncation
        self.append_fails = self.cut_fails = None  # exceptions that are raised

    def append_records_to_follower(self, records, partition_leader_epoch):
        if self.append_fails is not None:
            raise self.append_fails
        return self.local_log_or_exception.append_as_follower(records, partition_leader_epoch)

    def truncate_to(self, offset):
        if self.cut_fails is not None:
            raise self.cut_fails
        self.cuts.append(offset)
        self.local_log_or_exception.truncate_to(offset)

    def truncate_fully_and_start_at(self, new_offset):
        if self.cut_fails is not None:
            raise self.cut_fails
        self.cuts.append(("fully", new_offset))
        self.local_log_or_exception.truncate_fully_and_start_at(new_offset)


class Leader:
    """The leader's end: reads from its logs as `Partition.fetchRecords` does, and can be told to answer otherwise."""

    is_truncation_on_fetch_supported = True
    broker_end_point = LEADER

    def __init__(self, follower):
        self.follower = follower
        self.epoch = 0
        self.requests = []  # what was asked: {partition: (offset, last fetched epoch)}
        self.errors = {}  # partition → error that is answered instead of data
        self.failure = None  # an exception instead of any answer
        self.max_bytes = 1 << 20  # of one answer, over all partitions
        self.meanwhile = None  # called while a fetch is underway
        self.closed = False
        self.offset_requests = []
        self.end_offsets = None  # answers to questions about epochs, instead of those of the logs

    def build_fetch(self, partitions):
        now_ms = self.follower.time.milliseconds()
        asked = {
            tp: FetchRequestPartitionData(
                state.topic_id,
                state.fetch_offset,
                self.follower.logs[tp].log_start_offset,
                1 << 20,
                state.current_leader_epoch,
                state.last_fetched_epoch,
            )
            for tp, state in partitions.items()
            if state.is_ready_for_fetch(now_ms)
        }
        return (ReplicaFetch(asked, asked) if asked else None), set()

    def fetch(self, replica_fetch):
        asked = replica_fetch.fetch_request
        self.requests.append({tp: (data.fetch_offset, data.last_fetched_epoch) for tp, data in asked.items()})
        if self.meanwhile is not None:
            self.meanwhile()
        if self.failure is not None:
            raise self.failure
        left, answers = self.max_bytes, {}
        for tp, data in asked.items():
            answers[tp] = answer = self._answer(tp, data, left)
            left = max(0, left - answer.records.size_in_bytes)
        return answers

    def _answer(self, tp, data, max_bytes):
        error = self.errors.get(tp, Errors.NONE)
        log = self.follower.leader_logs[tp]
        if data.current_leader_epoch != self.epoch:
            error = (
                Errors.FENCED_LEADER_EPOCH if data.current_leader_epoch < self.epoch else Errors.UNKNOWN_LEADER_EPOCH
            )
        nothing = MemoryRecords.EMPTY
        if error is not Errors.NONE:
            return FetchPartitionData(error, -1, -1, nothing)
        if data.last_fetched_epoch is not None:
            found = log.end_offset_for_epoch(data.last_fetched_epoch)
            if found is None:
                return FetchPartitionData(Errors.OFFSET_OUT_OF_RANGE, -1, -1, nothing)
            if found.epoch < data.last_fetched_epoch or found.offset < data.fetch_offset:
                diverging = EpochEndOffset(found.epoch, found.offset)
                return FetchPartitionData(error, log.high_watermark, log.log_start_offset, nothing, diverging)
        try:
            read = log.read(data.fetch_offset, max_bytes, min_one_message=max_bytes == self.max_bytes)
        except OffsetOutOfRangeException:
            return FetchPartitionData(Errors.OFFSET_OUT_OF_RANGE, -1, -1, nothing)
        records = read.records if isinstance(read.records, MemoryRecords) else read.records.to_memory_records()
        return FetchPartitionData(error, log.high_watermark, log.log_start_offset, records)

    def fetch_earliest_offset(self, topic_partition, current_leader_epoch):
        self.offset_requests.append(("earliest", current_leader_epoch))
        return OffsetAndEpoch(self._log(topic_partition).log_start_offset, self.epoch)

    def fetch_latest_offset(self, topic_partition, current_leader_epoch):
        self.offset_requests.append(("latest", current_leader_epoch))
        return OffsetAndEpoch(self._log(topic_partition).log_end_offset, self.epoch)

    def fetch_epoch_end_offsets(self, partitions):
        if self.end_offsets is not None:
            return self.end_offsets
        answers = {}
        for tp, asked in partitions.items():
            found = self.follower.leader_logs[tp].end_offset_for_epoch(asked.leader_epoch)
            answers[tp] = EpochEndOffset() if found is None else EpochEndOffset(found.epoch, found.offset)
        return answers

    def _log(self, topic_partition):
        if self.failure is not None:
            raise self.failure
        return self.follower.leader_logs[topic_partition]

    def initiate_close(self):
        self.failure = ConnectionError("closed")

    def close(self):
        self.closed = True


class Follower:
    """A fetcher, the logs of its partitions, and those of their leader; a manual clock."""

    def __init__(self, directory):
        self.directory = directory
        self.time = ManualTime(1_700_000_000_000)
        self.logs, self.leader_logs, self.partitions = {}, {}, {}
        self.leader = Leader(self)
        self.failed = FailedPartitions()
        self.woken = []
        self.fetcher = ReplicaFetcher("fetcher-0-0", self.leader, self.failed, self, BACKOFF_MS, self.time)

    def open_logs(self, *partitions):
        for tp in partitions:
            self.leader_logs[tp] = self._open("leader", tp)
            self.logs[tp] = self._open("follower", tp)
            self.partitions[tp] = Followed(self.logs[tp])

    def _open(self, side, tp):
        return Log.create(
            self.directory / side / str(tp), LogConfig({}), scheduler=ManualScheduler(self.time), time=self.time
        )

    def follow(self, tp, init_offset=0, epoch=None, topic_id=None):
        epoch = self.leader.epoch if epoch is None else epoch
        self.fetcher.add_partitions({tp: InitialFetchState(topic_id, LEADER, epoch, init_offset)})

    def append(self, tp, count=1, epoch=0, high_watermark=None, to=None):
        """Append `count` batches of a record to the leader's log (or to the log `to`) in a leader epoch."""
        log = to or self.leader_logs[tp]
        for _ in range(count):
            batch = MemoryRecords.with_records(Compression.NONE, SimpleRecord(value=b"x" * 20))
            log.append_as_leader(batch, epoch)
        self.commit(tp, log.log_end_offset if high_watermark is None else high_watermark, log)

    def commit(self, tp, high_watermark, log=None):
        (log or self.leader_logs[tp]).update_high_watermark(high_watermark)

    def delete_records(self, tp, offset, log=None):
        reason = LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION
        (log or self.leader_logs[tp]).maybe_increment_log_start_offset(offset, reason)

    def state(self, tp):
        return self.fetcher.fetch_state(tp)

    def bytes_of(self, log):
        return b"".join(bytes(segment.log.to_memory_records().buffer) for segment in log.log_segments)

    # What the fetcher asks. Kafka: `ReplicaManager`.

    def get_partition_or_exception(self, topic_partition):
        if topic_partition not in self.partitions:
            raise UnknownTopicOrPartitionException(str(topic_partition))
        return self.partitions[topic_partition]

    def local_log_or_exception(self, topic_partition):
        return self.get_partition_or_exception(topic_partition).local_log_or_exception

    def complete_delayed_fetch_requests(self, topic_partitions):
        self.woken.extend(topic_partitions)


T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
