"""A follower: it copies partitions from one leader."""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.cluster.fetch_params import FetchRequestPartitionData
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    CorruptRecordException,
    FencedLeaderEpochException,
    IllegalStateException,
    InvalidRecordException,
    NotLeaderOrFollowerException,
    UnknownLeaderEpochException,
    UnknownTopicOrPartitionException,
)
from minikafka.common.java.scala_hash_map import in_order_of_a_map_grown
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.server.failed_partitions import FailedPartitions
from minikafka.server.fetch_partition_data import FetchPartitionData
from minikafka.server.initial_fetch_state import InitialFetchState
from minikafka.server.leader_end_point import LeaderEndPoint, OffsetForLeaderPartition, ReplicaFetch
from minikafka.server.offset_truncation_state import OffsetTruncationState, get_offset_truncation_state
from minikafka.server.partition_fetch_state import PartitionFetchState, ReplicaFetchState
from minikafka.server.partition_states import PartitionStates

logger = logging.getLogger(__name__)


class FollowedPartition(Protocol):
    """What a follower needs of a partition. Kafka: `Partition`."""

    @property
    def local_log_or_exception(self) -> Log: ...

    def append_records_to_follower(self, records: MemoryRecords, partition_leader_epoch: int) -> LogAppendInfo: ...

    def truncate_to(self, offset: int) -> None: ...

    def truncate_fully_and_start_at(self, new_offset: int) -> None: ...


class FollowedReplicas(Protocol):
    """What a follower needs of all partitions together. Kafka: `ReplicaManager`."""

    def get_partition_or_exception(self, topic_partition: TopicPartition) -> FollowedPartition: ...

    def local_log_or_exception(self, topic_partition: TopicPartition) -> Log: ...

    def complete_delayed_fetch_requests(self, topic_partitions: list[TopicPartition]) -> None: ...


class ReplicaFetcher:
    """Copies the partitions that one broker leads, in rounds: `do_work` is one.

    - A round first cuts the logs of the partitions that must be cut before anything is fetched, then sends one fetch
      request for all that are ready, and takes its answers in.
    - An answer is used only if the partition still stands where the request saw it (same offset, same leader epoch).
    - Where the leader says that the logs differ, nothing of the answer is used but the place: the log is cut there, and
      the next round fetches on, or learns that it has to be cut further.
    - After an error a partition is left alone for `fetch_backoff_ms`, by the given clock. One whose log cannot be
      cut or written, or whose leader has a newer epoch, is given up until this broker is told anew who leads it.

    Who has the fetcher calls `do_work`; a `ReplicaFetcherThread` does so by itself. Simpler than Kafka: no metrics,
    throttling, tiered logs, or moves between log directories.

    Kafka: `kafka.server.AbstractFetcherThread`, `kafka.server.ReplicaFetcherThread`.
    """

    def __init__(
        self,
        name: str,
        leader: LeaderEndPoint,
        failed_partitions: FailedPartitions,
        replica_manager: FollowedReplicas,
        fetch_backoff_ms: int,
        time: Time,
    ):
        self.name = name
        self._logger = logger.getChild(name)
        self.leader = leader
        self._failed_partitions = failed_partitions
        self._replica_manager = replica_manager
        self._fetch_backoff_ms = fetch_backoff_ms
        self._time = time
        self._partition_states: PartitionStates[PartitionFetchState] = PartitionStates()
        self._partition_map_lock = threading.RLock()  # guards the states; not held while the leader is asked to fetch
        self._partitions_with_new_high_watermark: list[TopicPartition] = []
        self._is_running = True

    # A round

    def do_work(self) -> bool:
        """Cut what has to be cut, fetch once, and wake those who wait for a high watermark that has moved.

        The result is False where there was nothing to fetch.
        Kafka: `ReplicaFetcherThread.doWork`, `AbstractFetcherThread.doWork`.
        """
        # 1. Logs that must be cut before anything is fetched into them.
        self._maybe_truncate()
        # 2. One fetch for all partitions that are ready.
        has_fetched = self._maybe_fetch()
        # 3. Consumers may read from this replica, too.
        self._complete_delayed_fetch_requests()
        return has_fetched

    def _maybe_fetch(self) -> bool:
        """Kafka: `AbstractFetcherThread.maybeFetch`."""
        with self._partition_map_lock:
            replica_fetch, partitions_with_error = self.leader.build_fetch(self._partition_states.partition_state_map)
            self._handle_partitions_with_errors(partitions_with_error, "maybe_fetch")
        if replica_fetch is None:
            return False
        self._process_fetch_request(replica_fetch)
        return True

    def _process_fetch_request(self, replica_fetch: ReplicaFetch) -> None:
        """Send a fetch request and take its answers in. Kafka: `AbstractFetcherThread.processFetchRequest`."""
        partitions_with_error: set[TopicPartition] = set()
        diverging_end_offsets: dict[TopicPartition, EpochEndOffset] = {}
        response_data: dict[TopicPartition, FetchPartitionData] = {}
        # 1. The leader answers, at once or when its wait is over. If it cannot be reached, all partitions are delayed.
        try:
            response_data = self.leader.fetch(replica_fetch)
        except Exception:
            if self._is_running:
                self._logger.warning("error in response for fetch request %s", replica_fetch, exc_info=True)
                with self._partition_map_lock:
                    partitions_with_error.update(self._partition_states)
        # 2. Each partition's answer is used if the partition still stands where the request saw it.
        with self._partition_map_lock:
            for topic_partition, partition_data in response_data.items():
                state = self._partition_states.state_value(topic_partition)
                asked = replica_fetch.partition_data.get(topic_partition)
                if state is None or asked is None or not self._is_answer_to(state, asked):
                    continue
                if partition_data.error is not Errors.NONE:
                    # 3. An error: what is to be done, and is the partition to be delayed?
                    if not self._handle_error(topic_partition, state, asked, partition_data.error):
                        partitions_with_error.add(topic_partition)
                elif self.leader.is_truncation_on_fetch_supported and partition_data.diverging_epoch is not None:
                    # 4. The logs differ. High watermark and log start of the answer are not used: the log has to be
                    #    cut first.
                    diverging_end_offsets[topic_partition] = partition_data.diverging_epoch
                elif not self._take_in(topic_partition, state, partition_data):
                    # 5. Records are appended; damaged ones are fetched again later.
                    partitions_with_error.add(topic_partition)
        # 6. Cut the logs that differ.
        if diverging_end_offsets:
            self._truncate_on_fetch_response(diverging_end_offsets)
        # 7. Leave partitions with an error alone for a while.
        self._handle_partitions_with_errors(partitions_with_error, "process_fetch_request")

    def _is_answer_to(self, state: PartitionFetchState, asked: FetchRequestPartitionData) -> bool:
        """False if the partition was cut, moved on or taken over while the request was underway."""
        return (
            asked.fetch_offset == state.fetch_offset
            and asked.current_leader_epoch in (None, state.current_leader_epoch)
            and state.is_ready_for_fetch(self._time.milliseconds())
        )

    def _take_in(
        self, topic_partition: TopicPartition, state: PartitionFetchState, partition_data: FetchPartitionData
    ) -> bool:
        """Append an answer's records and note how far the partition is; False if it is to be fetched again later."""
        try:
            info = self.process_partition_data(
                topic_partition, state.fetch_offset, state.current_leader_epoch, partition_data
            )
            if info is not None:
                self._move_on(topic_partition, state, partition_data.high_watermark, info)
        except (CorruptRecordException, InvalidRecordException):
            self._logger.exception(
                "found invalid messages during fetch for partition %s offset %d", topic_partition, state.fetch_offset
            )
            return False
        except Exception:
            self._logger.exception(
                "error while processing data for partition %s at offset %d", topic_partition, state.fetch_offset
            )
            self._mark_partition_failed(topic_partition)
        return True

    def process_partition_data(
        self,
        topic_partition: TopicPartition,
        fetch_offset: int,
        partition_leader_epoch: int,
        partition_data: FetchPartitionData,
    ) -> LogAppendInfo | None:
        """Append what the leader sent, and follow its high watermark and log start.

        `partition_leader_epoch`: the epoch in which it was fetched; batches of later ones are not appended.
        Raises IllegalStateException if the log does not end at `fetch_offset`, and what appending raises.
        Kafka: `ReplicaFetcherThread.processPartitionData`.
        """
        # 1. The partition and its log, and the records in memory.
        partition = self._replica_manager.get_partition_or_exception(topic_partition)
        log = partition.local_log_or_exception
        records = _to_memory_records(partition_data.records)
        # 2. What was fetched fits behind what is there.
        if fetch_offset != log.log_end_offset:
            raise IllegalStateException(
                f"Offset mismatch for partition {topic_partition}: fetched offset = {fetch_offset}, "
                f"log end offset = {log.log_end_offset}."
            )
        # 3. Append it, with the offsets and epochs that the leader gave.
        info = partition.append_records_to_follower(records, partition_leader_epoch)
        # 4. The leader's high watermark, as far as this log reaches.
        if log.maybe_update_high_watermark(partition_data.high_watermark) is not None:
            self._partitions_with_new_high_watermark.append(topic_partition)
        # 5. The leader's log start.
        log.maybe_increment_log_start_offset(
            partition_data.log_start_offset, LogStartOffsetIncrementReason.LEADER_OFFSET_INCREMENTED
        )
        return info

    def _move_on(
        self, topic_partition: TopicPartition, state: PartitionFetchState, high_watermark: int, info: LogAppendInfo
    ) -> None:
        """Note the next offset wanted; whoever got records lets the others go first."""
        next_offset = info.last_offset + 1 if info.valid_bytes > 0 else state.fetch_offset
        if (info.valid_bytes > 0 or state.lag is None) and topic_partition in self._partition_states:
            moved = PartitionFetchState(
                state.topic_id,
                next_offset,
                max(0, high_watermark - next_offset),
                state.current_leader_epoch,
                ReplicaFetchState.FETCHING,
                state.last_fetched_epoch if info.last_leader_epoch is None else info.last_leader_epoch,
            )
            self._partition_states.update_and_move_to_end(topic_partition, moved)

    def _complete_delayed_fetch_requests(self) -> None:
        """Kafka: `ReplicaFetcherThread.completeDelayedFetchRequests`."""
        if self._partitions_with_new_high_watermark:
            self._replica_manager.complete_delayed_fetch_requests(self._partitions_with_new_high_watermark)
            self._partitions_with_new_high_watermark = []

    # Errors

    def _handle_error(
        self,
        topic_partition: TopicPartition,
        state: PartitionFetchState,
        asked: FetchRequestPartitionData,
        error: Errors,
    ) -> bool:
        """Do what an error of the leader's answer demands; False if the partition is to be delayed."""
        match error:
            case Errors.OFFSET_OUT_OF_RANGE:
                return self._handle_out_of_range_error(topic_partition, state, asked.current_leader_epoch)
            case Errors.FENCED_LEADER_EPOCH:
                return not self._on_partition_fenced(topic_partition, asked.current_leader_epoch)
            case (
                Errors.UNKNOWN_LEADER_EPOCH
                | Errors.NOT_LEADER_OR_FOLLOWER
                | Errors.UNKNOWN_TOPIC_OR_PARTITION
                | Errors.UNKNOWN_TOPIC_ID
                | Errors.INCONSISTENT_TOPIC_ID
            ):  # this broker or its leader is behind the other with the cluster's metadata
                self._logger.debug("%s from the leader for partition %s", error.name, topic_partition)
            case _:
                self._logger.error(
                    "error %s for partition %s at offset %d", error.name, topic_partition, state.fetch_offset
                )
        return False

    def _handle_out_of_range_error(
        self, topic_partition: TopicPartition, fetch_state: PartitionFetchState, leader_epoch_in_request: int | None
    ) -> bool:
        """Ask the leader where its log is, and go on from there; False if the partition is to be delayed.

        Kafka: `AbstractFetcherThread.handleOutOfRangeError`.
        """
        try:
            new_fetch_state = self._fetch_offset_and_truncate(
                topic_partition, fetch_state.topic_id, fetch_state.current_leader_epoch
            )
            self._partition_states.update_and_move_to_end(topic_partition, new_fetch_state)
            self._logger.info(
                "offset %d of partition %s is out of range, which typically implies a leader change; fetching from %d",
                fetch_state.fetch_offset,
                topic_partition,
                new_fetch_state.fetch_offset,
            )
            return True
        except FencedLeaderEpochException:
            return self._on_partition_fenced(topic_partition, leader_epoch_in_request)
        except (UnknownTopicOrPartitionException, UnknownLeaderEpochException, NotLeaderOrFollowerException) as error:
            self._logger.info("could not fetch offset for %s due to error: %s", topic_partition, error)
        except Exception:
            self._logger.exception("error getting offset for partition %s", topic_partition)
        return False

    def _on_partition_fenced(self, topic_partition: TopicPartition, request_epoch: int | None) -> bool:
        """The leader has a newer epoch than the request: give the partition up, unless it has a newer one meanwhile.

        True if it has, so that it is fetched again later. Kafka: `AbstractFetcherThread.onPartitionFenced`.
        """
        with self._partition_map_lock:
            state = self._partition_states.state_value(topic_partition)
            if state is None:
                return False
            if request_epoch is not None and request_epoch == state.current_leader_epoch:
                self._logger.info(
                    "partition %s has an older epoch (%d) than the current leader", topic_partition, request_epoch
                )
                self._mark_partition_failed(topic_partition)
                return False
            return True

    def _mark_partition_failed(self, topic_partition: TopicPartition) -> None:
        """Give the partition up. Kafka: `AbstractFetcherThread.markPartitionFailed`."""
        with self._partition_map_lock:
            self._failed_partitions.add(topic_partition)
            self.remove_partitions([topic_partition])
        self._logger.warning("partition %s marked as failed", topic_partition)

    def _handle_partitions_with_errors(self, partitions: Collection[TopicPartition], method_name: str) -> None:
        """Kafka: `AbstractFetcherThread.handlePartitionsWithErrors`."""
        if partitions:
            self._logger.debug("handling errors in %s for partitions %s", method_name, partitions)
            self._delay_partitions(partitions)

    def _delay_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """Leave these partitions alone for the back-off; who is delayed already is not delayed further.

        Kafka: `AbstractFetcherThread.delayPartitions`.
        """
        with self._partition_map_lock:
            now_ms = self._time.milliseconds()
            for topic_partition in in_order_of_a_map_grown(partitions):
                state = self._partition_states.state_value(topic_partition)
                if state is not None and not state.is_delayed(now_ms):
                    delayed = state.delayed(self._fetch_backoff_ms, now_ms)
                    self._partition_states.update_and_move_to_end(topic_partition, delayed)

    # Cutting the log

    def _maybe_truncate(self) -> None:
        """Cut the logs of the partitions that are truncating. Kafka: `AbstractFetcherThread.maybeTruncate`."""
        partitions_with_epochs, partitions_without_epochs = self._fetch_truncating_partitions()
        # 1. By epochs, where the log knows any and the leader does not tell with its answer to a fetch.
        if partitions_with_epochs:
            self._truncate_to_epoch_end_offsets(partitions_with_epochs)
        # 2. Else to the high watermark: no epoch says how much of the rest the leader has.
        if partitions_without_epochs:
            self._truncate_to_high_watermark(partitions_without_epochs)

    def _fetch_truncating_partitions(
        self,
    ) -> tuple[dict[TopicPartition, OffsetForLeaderPartition], set[TopicPartition]]:
        """What to ask the leader about the partitions whose logs know epochs; and the other partitions.

        Kafka: `AbstractFetcherThread.fetchTruncatingPartitions`.
        """
        partitions_with_epochs: dict[TopicPartition, OffsetForLeaderPartition] = {}
        partitions_without_epochs: set[TopicPartition] = set()
        with self._partition_map_lock:
            now_ms = self._time.milliseconds()
            for topic_partition, state in self._partition_states.partition_state_map.items():
                if not state.is_truncating(now_ms):
                    continue
                latest_epoch = self._latest_epoch(topic_partition)
                if latest_epoch is None:
                    partitions_without_epochs.add(topic_partition)
                else:
                    partitions_with_epochs[topic_partition] = OffsetForLeaderPartition(
                        partition=topic_partition.partition,
                        current_leader_epoch=state.current_leader_epoch,
                        leader_epoch=latest_epoch,
                    )
        return partitions_with_epochs, partitions_without_epochs

    def _truncate_to_epoch_end_offsets(
        self, latest_epochs_for_partitions: Mapping[TopicPartition, OffsetForLeaderPartition]
    ) -> None:
        """Ask the leader where the newest epoch of each log ends, and cut there.

        Kafka: `AbstractFetcherThread.truncateToEpochEndOffsets`.
        """
        # 1. The leader is asked without a lock.
        end_offsets = self.leader.fetch_epoch_end_offsets(latest_epochs_for_partitions)
        with self._partition_map_lock:
            # 2. Only partitions that still follow in the epoch of the question are cut.
            epoch_end_offsets = {
                topic_partition: end_offset
                for topic_partition, end_offset in end_offsets.items()
                if self._is_in_epoch(topic_partition, latest_epochs_for_partitions)
            }
            # 3. Cut, and fetch on from there.
            self._truncate_by(epoch_end_offsets, latest_epochs_for_partitions, "truncate_to_epoch_end_offsets")

    def _is_in_epoch(
        self, topic_partition: TopicPartition, asked: Mapping[TopicPartition, OffsetForLeaderPartition]
    ) -> bool:
        if topic_partition not in asked:
            raise IllegalStateException(
                f"Leader replied with partition {topic_partition} not requested in OffsetsForLeaderEpoch request"
            )
        state = self._partition_states.state_value(topic_partition)
        return state is not None and asked[topic_partition].current_leader_epoch == state.current_leader_epoch

    def _truncate_on_fetch_response(self, epoch_end_offsets: Mapping[TopicPartition, EpochEndOffset]) -> None:
        """Cut the logs of which the leader said, with its answer to a fetch, where they depart from its own.

        Kafka: `AbstractFetcherThread.truncateOnFetchResponse`.
        """
        with self._partition_map_lock:
            self._truncate_by(epoch_end_offsets, {}, "truncate_on_fetch_response")

    def _truncate_by(
        self,
        epoch_end_offsets: Mapping[TopicPartition, EpochEndOffset],
        asked: Mapping[TopicPartition, OffsetForLeaderPartition],
        method_name: str,
    ) -> None:
        fetch_offsets, with_error = self._maybe_truncate_to_epoch_end_offsets(epoch_end_offsets, asked)
        self._handle_partitions_with_errors(with_error, method_name)
        self._update_fetch_offset_and_maybe_mark_truncation_complete(fetch_offsets)

    def _truncate_to_high_watermark(self, partitions: Iterable[TopicPartition]) -> None:
        """Cut at the offset from which the partition was to be fetched: its high watermark, if the log knows no epoch.

        Kafka: `AbstractFetcherThread.truncateToHighWatermark`.
        """
        with self._partition_map_lock:
            fetch_offsets = {}
            for topic_partition in partitions:
                state = self._partition_states.state_value(topic_partition)
                if state is None:
                    continue
                truncation_state = OffsetTruncationState(state.fetch_offset, truncation_completed=True)
                if self._do_truncate(topic_partition, truncation_state):
                    fetch_offsets[topic_partition] = truncation_state
            self._update_fetch_offset_and_maybe_mark_truncation_complete(fetch_offsets)

    def _maybe_truncate_to_epoch_end_offsets(
        self,
        fetched_epochs: Mapping[TopicPartition, EpochEndOffset],
        latest_epochs_for_partitions: Mapping[TopicPartition, OffsetForLeaderPartition],
    ) -> tuple[dict[TopicPartition, OffsetTruncationState], set[TopicPartition]]:
        """Cut each log where the leader's answer says; returns where, and the partitions to be delayed.

        Kafka: `AbstractFetcherThread.maybeTruncateToEpochEndOffsets`.
        """
        fetch_offsets = {}
        partitions_with_error = set()
        for topic_partition, leader_epoch_offset in fetched_epochs.items():
            state = self._partition_states.state_value(topic_partition)
            if state is None:
                continue  # it was given to another fetcher meanwhile
            match leader_epoch_offset.error:
                case Errors.NONE:
                    log = self._replica_manager.local_log_or_exception(topic_partition)
                    truncation_state = get_offset_truncation_state(log, leader_epoch_offset, state.fetch_offset)
                    self._logger.info(
                        "truncating partition %s with %s due to leader epoch and offset %s",
                        topic_partition,
                        truncation_state,
                        leader_epoch_offset,
                    )
                    if self._do_truncate(topic_partition, truncation_state):
                        fetch_offsets[topic_partition] = truncation_state
                case Errors.FENCED_LEADER_EPOCH:
                    asked = latest_epochs_for_partitions.get(topic_partition)
                    if self._on_partition_fenced(topic_partition, asked.current_leader_epoch if asked else None):
                        partitions_with_error.add(topic_partition)
                case error:
                    self._logger.info(
                        "leader reported error %s for the epoch of partition %s", error.name, topic_partition
                    )
                    partitions_with_error.add(topic_partition)
        return fetch_offsets, partitions_with_error

    def _do_truncate(self, topic_partition: TopicPartition, truncation_state: OffsetTruncationState) -> bool:
        """Cut the log; False, and the partition is given up, if that fails.

        Kafka: `AbstractFetcherThread.doTruncate`.
        """
        try:
            self._truncate(topic_partition, truncation_state.offset)
            return True
        except Exception:
            self._logger.exception("failed to truncate %s at offset %d", topic_partition, truncation_state.offset)
            self._mark_partition_failed(topic_partition)
            return False

    def _update_fetch_offset_and_maybe_mark_truncation_complete(
        self, fetch_offsets: Mapping[TopicPartition, OffsetTruncationState]
    ) -> None:
        """Fetch on from where logs were cut. Kafka: `.updateFetchOffsetAndMaybeMarkTruncationComplete`."""
        now_ms = self._time.milliseconds()
        states = self._partition_states.partition_state_map
        new_states = {}
        for topic_partition in in_order_of_a_map_grown(states):  # the order in which Kafka goes on from here
            state = states[topic_partition]
            cut = fetch_offsets.get(topic_partition)
            if cut is not None:
                fetching = self.leader.is_truncation_on_fetch_supported or cut.truncation_completed
                state = state._replace(
                    fetch_offset=cut.offset,
                    state=ReplicaFetchState.FETCHING if fetching else ReplicaFetchState.TRUNCATING,
                    last_fetched_epoch=self._latest_epoch(topic_partition),
                )
                if state.delay_ms is not None:  # a delay that is over begins anew, as in Kafka
                    state = state.delayed(state.delay_ms, now_ms)
            new_states[topic_partition] = state
        self._partition_states.set(new_states)

    def _fetch_offset_and_truncate(
        self, topic_partition: TopicPartition, topic_id: str | None, current_leader_epoch: int
    ) -> PartitionFetchState:
        """Ask the leader where its log ends and begins, and bring the own log to where it can be fetched on.

        Raises what the leader reports, and what cutting raises. Kafka: `AbstractFetcherThread.fetchOffsetAndTruncate`.
        """
        replica_end_offset = self._log_end_offset(topic_partition)
        # 1. Where does the leader's log end?
        leader_end_offset = self.leader.fetch_latest_offset(topic_partition, current_leader_epoch).offset
        if leader_end_offset < replica_end_offset:
            # 2. Before the own one, as after an unclean election: cut to that.
            self._logger.warning(
                "reset fetch offset for partition %s from %d to current leader's latest offset %d",
                topic_partition,
                replica_end_offset,
                leader_end_offset,
            )
            self._truncate(topic_partition, leader_end_offset)
            offset_to_fetch = leader_end_offset
        else:
            # 3. Where does it begin? Behind the own end, after a long absence: nothing here is of use any more.
            leader_start_offset = self.leader.fetch_earliest_offset(topic_partition, current_leader_epoch).offset
            offset_to_fetch = max(leader_start_offset, replica_end_offset)
            if leader_start_offset > replica_end_offset:
                self._logger.warning(
                    "truncate fully and reset fetch offset for partition %s from %d to the leader's start offset %d",
                    topic_partition,
                    replica_end_offset,
                    leader_start_offset,
                )
                partition = self._replica_manager.get_partition_or_exception(topic_partition)
                partition.truncate_fully_and_start_at(leader_start_offset)
        return PartitionFetchState(
            topic_id,
            offset_to_fetch,
            leader_end_offset - offset_to_fetch,
            current_leader_epoch,
            ReplicaFetchState.FETCHING,
            self._latest_epoch(topic_partition),
        )

    def _truncate(self, topic_partition: TopicPartition, offset: int) -> None:
        """Kafka: `ReplicaFetcherThread.truncate`."""
        self._replica_manager.get_partition_or_exception(topic_partition).truncate_to(offset)

    # The partitions of this fetcher

    def add_partitions(self, initial_fetch_states: Mapping[TopicPartition, InitialFetchState]) -> None:
        """Follow these partitions, also such as were given up; one that is followed in the same leader epoch goes on.

        Raises what `fetch_latest_offset` raises, for an initial offset below 0.
        Kafka: `AbstractFetcherThread.addPartitions`.
        """
        with self._partition_map_lock:
            self._failed_partitions.remove_all(initial_fetch_states)
            for topic_partition, initial_fetch_state in initial_fetch_states.items():
                current = self._partition_states.state_value(topic_partition)
                updated = self._partition_fetch_state(topic_partition, initial_fetch_state, current)
                self._partition_states.update_and_move_to_end(topic_partition, updated)

    def _partition_fetch_state(
        self, topic_partition: TopicPartition, initial: InitialFetchState, current: PartitionFetchState | None
    ) -> PartitionFetchState:
        """With which state a partition begins. Kafka: `AbstractFetcherThread.partitionFetchState`."""
        if current is not None and current.current_leader_epoch == initial.current_leader_epoch:
            return current
        if initial.init_offset < 0:
            return self._fetch_offset_and_truncate(topic_partition, initial.topic_id, initial.current_leader_epoch)
        last_fetched_epoch = None
        if self.leader.is_truncation_on_fetch_supported:
            last_fetched_epoch = self._latest_epoch(topic_partition)
        # With an epoch the leader can say, with its answer to the first fetch, where the log must be cut.
        state = ReplicaFetchState.TRUNCATING if last_fetched_epoch is None else ReplicaFetchState.FETCHING
        return PartitionFetchState(
            initial.topic_id, initial.init_offset, None, initial.current_leader_epoch, state, last_fetched_epoch
        )

    def maybe_update_topic_ids(
        self, partitions: Iterable[TopicPartition], topic_ids: Callable[[str], str | None]
    ) -> None:
        """Note the topic ids of the partitions that are followed here. Kafka: `.maybeUpdateTopicIds`."""
        with self._partition_map_lock:
            for topic_partition in partitions:
                state = self._partition_states.state_value(topic_partition)
                if state is not None:
                    updated = state.update_topic_id(topic_ids(topic_partition.topic))
                    self._partition_states.update(topic_partition, updated)

    def remove_partitions(
        self, topic_partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, PartitionFetchState]:
        """Follow these partitions no longer; returns how far they were. Kafka: `.removePartitions`."""
        removed = {}
        with self._partition_map_lock:
            for topic_partition in topic_partitions:
                state = self._partition_states.state_value(topic_partition)
                if state is not None:
                    self._partition_states.remove(topic_partition)
                    removed[topic_partition] = state
        return removed

    def remove_all_partitions(self) -> dict[TopicPartition, PartitionFetchState]:
        """Follow nothing any more; returns how far it was. Kafka: `AbstractFetcherThread.removeAllPartitions`."""
        with self._partition_map_lock:
            return self.remove_partitions(self.partitions)

    @property
    def partition_count(self) -> int:
        """How many partitions are followed. Kafka: `AbstractFetcherThread.partitionCount`."""
        return len(self._partition_states)

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions that are followed, in the order of the next request. Kafka: `.partitions`."""
        with self._partition_map_lock:
            return list(self._partition_states)

    def fetch_state(self, topic_partition: TopicPartition) -> PartitionFetchState | None:
        """How far a partition is, None if it is not followed here. Kafka: `AbstractFetcherThread.fetchState`."""
        return self._partition_states.state_value(topic_partition)

    def initiate_shutdown(self) -> None:
        """Let a request that is underway in another thread fail without a word.

        Kafka: `ReplicaFetcherThread.initiateShutdown`.
        """
        self._is_running = False
        try:
            self.leader.initiate_close()
        except Exception:
            self._logger.exception("failed to begin to close the connection to the leader")

    def shutdown(self) -> None:
        """End, and close the connection. Kafka: `AbstractFetcherThread.shutdown`."""
        self.initiate_shutdown()
        try:
            self.leader.close()
        except Exception:
            self._logger.exception("failed to close the connection to the leader")

    # What the logs say

    def _latest_epoch(self, topic_partition: TopicPartition) -> int | None:
        return self._replica_manager.local_log_or_exception(topic_partition).latest_epoch

    def _log_end_offset(self, topic_partition: TopicPartition) -> int:
        return self._replica_manager.local_log_or_exception(topic_partition).log_end_offset


def _to_memory_records(records: FileRecords | MemoryRecords) -> MemoryRecords:
    """Kafka: `AbstractFetcherThread.toMemoryRecords`."""
    return records if isinstance(records, MemoryRecords) else records.to_memory_records()
