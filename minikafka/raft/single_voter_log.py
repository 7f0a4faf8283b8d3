"""The topic `__cluster_metadata` of a cluster whose one controller is the only voter."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.errors import FatalExitError, KafkaStorageException
from minikafka.common.exit import Halt, raise_fatal
from minikafka.common.scheduler import Scheduler
from minikafka.common.time import Time
from minikafka.common.uuid import ONE_UUID
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.messages.compiled_codec import write_message
from minikafka.messages.control_records import LeaderChangeMessage
from minikafka.messages.message_sink import MessageSink
from minikafka.raft.quorum_state_store import QUORUM_STATE_NAME, QuorumStateStore
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.control_record import ControlRecordType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import SimpleRecord

_TOPIC_ID = ONE_UUID  # Kafka: `Uuid.METADATA_TOPIC_ID`
_SETTINGS = {"max.message.bytes": 8 * 1024 * 1024, "segment.bytes": 1024 * 1024 * 1024}
_LEADER_CHANGE_VERSION = 0  # of quorums whose voters do not change


class SingleVoterLog:
    """A log of values, each of which is committed as soon as it is on the device: there is nobody else to wait for.

    - Whoever opens it is elected in a new epoch. That is in `quorum-state` before anything is written in that epoch,
      and a control batch (LeaderChange) begins the epoch in the log.
    - What `append` has returned from is there after a kill. A batch that was torn by a kill goes when the log is opened
      again, whole: the values of one `append` are there all, or none.
    - When its disk has failed, nobody can know what is in it, and a controller must not go on: that is fatal.

    On disk: the directory `__cluster_metadata-0`, a log as any other, with `quorum-state` beside the segments.
    Simpler than Kafka: no snapshots, so the log is read from its start. Kafka: `KafkaRaftClient`, `KafkaRaftLog`.
    """

    def __init__(self, directory: Path, node_id: int, *, scheduler: Scheduler, time: Time, halt: Halt = raise_fatal):
        """Open the log, make it if it is missing, and be elected.

        `halt(fatal)`: what happens where Kafka halts the process, because what was appended cannot be written.

        Raises KafkaStorageException when another process has it open, what a damaged log raises,
        IllegalStateException where others vote, and OSError.
        """
        self._time = time
        self._halt = halt
        self._log = Log.create(
            directory,
            LogConfig(_SETTINGS),
            scheduler=scheduler,
            time=time,
            last_shutdown_clean=False,  # as in Kafka, it is scanned at every start
            topic_id=_TOPIC_ID,
            stop_at_os_errors=True,  # else an error of the disk would count as damage
        )
        try:
            store = QuorumStateStore(directory / QUORUM_STATE_NAME, node_id)
            self.epoch = max(store.read_epoch(), self._log.latest_epoch or 0) + 1
            """The epoch in which this process leads. Kafka: `QuorumState.epoch`."""
            store.write_elected(self.epoch)
            self._append(self._leader_change(node_id))
            file_ops.flush_dir(directory)
            file_ops.flush_dir(directory.parent)
        except BaseException:
            self._log.close_handlers()
            raise

    @property
    def end_offset(self) -> int:
        """The offset of the next value. Kafka: `RaftLog.endOffset`."""
        return self._log.log_end_offset

    def read(self) -> Iterator[list[bytes | None]]:
        """What was written so far: the values of each batch, None for a control record.

        Raises what reading a damaged log raises.
        """
        offset = self._log.log_start_offset
        while offset < self._log.log_end_offset:
            for batch in self._log.read(offset, max_length=_SETTINGS["max.message.bytes"]).records.batches():
                yield [None if batch.is_control_batch else bytes(record.value or b"") for record in batch]
                offset = batch.next_offset

    def append(self, values: Sequence[bytes]) -> None:
        """Write the values as one batch, and wait until they are on the device.

        Raises RecordTooLargeException for more than 8 MiB; KafkaStorageException after `halt` when the disk has failed.
        Kafka: `KafkaRaftClient.prepareAppend`, `KafkaRaftClientDriver.doWork`.
        """
        now_ms = self._time.milliseconds()
        records = [SimpleRecord(now_ms, None, value) for value in values]
        batch = MemoryRecords.with_records(
            CompressionType.NONE, *records, initial_offset=self.end_offset, partition_leader_epoch=self.epoch
        )
        try:
            self._append(batch)
        except KafkaStorageException as error:
            self._halt(FatalExitError(f"Shutdown broker because the metadata log {self._log.dir} has failed: {error}"))
            raise

    def close(self) -> None:
        """Close the log. Raises KafkaStorageException. Kafka: `KafkaRaftLog.close`."""
        self._log.close()

    def let_go(self) -> None:
        """Release the files and write nothing, as when the process is killed. Not in Kafka."""
        self._log.close_handlers()

    def _append(self, records: MemoryRecords) -> None:
        self._log.append_as_leader(records, self.epoch, AppendOrigin.RAFT_LEADER)
        self._log.flush(force_flush_active_segment=False)
        self._log.update_high_watermark(self._log.log_end_offset)

    def _leader_change(self, node_id: int) -> MemoryRecords:
        """Kafka: `BatchAccumulator.appendLeaderChangeMessage`."""
        voter = LeaderChangeMessage.Voter(voter_id=node_id)
        message = LeaderChangeMessage(leader_id=node_id, voters=[voter], granting_voters=[voter])
        sink = MessageSink()
        write_message(message, sink, _LEADER_CHANGE_VERSION)
        builder = MemoryRecordsBuilder(
            CompressionType.NONE,
            base_offset=self.end_offset,
            is_control_batch=True,
            partition_leader_epoch=self.epoch,
        )
        builder.append_control_record(self._time.milliseconds(), ControlRecordType.LEADER_CHANGE, bytes(sink))
        return builder.build()
