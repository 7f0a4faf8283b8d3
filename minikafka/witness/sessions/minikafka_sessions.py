"""minikafka's fetch sessions, on a clock that stands."""

from collections.abc import Callable, Sequence

from minikafka.cluster.fetch_params import FetchRequestPartitionData
from minikafka.common.time import ManualTime
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.messages.apis import FetchResponse
from minikafka.server.fetch_manager import FetchManager
from minikafka.server.fetch_metadata import FetchMetadata
from minikafka.server.fetch_session_cache import FetchSessionCache
from minikafka.witness.sessions.fetch_sessions import TOPIC, VERSION, Found, SessionAnswer

_SLOTS = 8
_ASKED = FetchRequestPartitionData(ZERO_UUID, 0, 0, 1, None)
_Data = FetchResponse.FetchableTopicResponse.PartitionData


class MinikafkaSessions:
    """A new `FetchManager` without any session."""

    def __init__(self) -> None:
        self._manager = FetchManager(ManualTime(), FetchSessionCache.with_slots(_SLOTS))

    def fetch(
        self, session_id: int, epoch: int, named: Sequence[int], forgotten: Sequence[int], find: Callable[[int], Found]
    ) -> SessionAnswer:
        """See `FetchSessions.fetch`."""
        context = self._manager.new_context(
            VERSION,
            FetchMetadata(session_id, epoch),
            False,
            {_key(each): _ASKED for each in named},
            [_key(each) for each in forgotten],
            lambda topic_id: None,
        )
        read = tuple(partition.partition for partition, _ in context.partitions())
        updates = {_key(each): _data(each, find(each)) for each in read}
        answer = context.update_and_generate_response_data(updates, [])
        told = tuple(each.partition_index for topic in answer.responses for each in topic.partitions)
        return SessionAnswer(answer.session_id, answer.error_code, told, read)


def _key(partition: int) -> TopicIdPartition:
    return TopicIdPartition(ZERO_UUID, TopicPartition(TOPIC, partition))


def _data(partition: int, found: Found) -> _Data:
    data = _Data(
        partition_index=partition,
        error_code=found.error,
        high_watermark=found.high_watermark,
        log_start_offset=found.log_start,
        preferred_read_replica=found.replica,
        records=found.data,
    )
    if found.is_cut:
        data.diverging_epoch = _Data.EpochEndOffset(epoch=0, end_offset=0)
    return data
