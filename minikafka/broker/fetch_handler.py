"""Fetch, key 1, versions 4–18: consumers and followers read batches, at once or when there are enough.

What Kafka does:

- A session, from version 7 on, has partitions that the request does not name again, and leaves out of the answer what
  has not changed.
- A consumer needs the right READ of a topic, a follower (a replica id from 0 on) CLUSTER_ACTION.
- A consumer sees the log up to the high watermark, with `read_committed` up to the last stable offset; a follower sees
  all of it.
- The answer waits until there are `min_bytes`, for at most `max_wait_ms`. The first batch comes whole even where it is
  larger than all limits.

Versions: 5 has the log start, 7 sessions, 9 leader epochs, 11 the reader's rack, 12 tagged fields and the epoch last
fetched, 13 topic ids instead of names, 15 the replica's epoch, 16 names leaders, 17 has the replica's directory id,
18 its high watermark.
"""

from collections.abc import Sequence

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.broker.current_leaders import CurrentLeaders, node_endpoints
from minikafka.cluster.fetch_params import ClientMetadata, FetchParams, FetchRequestPartitionData
from minikafka.common.bytes_like import BytesLike
from minikafka.common.error_codes import Errors
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.node import Node
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.messages.apis import FetchRequest, FetchResponse
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.error_responses import fetch_partition_response
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.fetch_context import FetchContext
from minikafka.server.fetch_manager import FIRST_VERSION_WITH_TOPIC_IDS, FetchManager
from minikafka.server.fetch_metadata import FetchMetadata
from minikafka.server.fetch_partition_data import FetchPartitionData
from minikafka.server.fetch_session import INVALID_PREFERRED_REPLICA_ID, PartitionData
from minikafka.server.replica_manager import ReplicaManager

LAST_VERSION_WITHOUT_STORAGE_ERROR = 5
FIRST_VERSION_WITH_CLIENT_METADATA = 11
FIRST_VERSION_WITH_REPLICA_STATE = 15
FIRST_VERSION_WITH_LEADERS = 16
INVALID_LAST_STABLE_OFFSET = -1


_Partition = tuple[TopicIdPartition, FetchRequestPartitionData]
_Answer = tuple[TopicIdPartition, PartitionData]


class FetchHandler:
    """Sorts the partitions of a fetch request, has the good ones read, and answers for all.

    Simpler than Kafka: no quotas and no metrics. Kafka: `KafkaApis.handleFetchRequest`.
    """

    def __init__(
        self,
        replica_manager: ReplicaManager,
        metadata_cache: MetadataCache,
        auth_helper: AuthHelper,
        request_channel: RequestChannel,
        current_leaders: CurrentLeaders,
        config: BrokerConfig,
        fetch_manager: FetchManager,
    ):
        self._replica_manager = replica_manager
        self._metadata_cache = metadata_cache
        self._auth_helper = auth_helper
        self._request_channel = request_channel
        self._current_leaders = current_leaders
        self._config = config
        self._fetch_manager = fetch_manager

    def handle_fetch_request(self, request: Request) -> None:
        """Read what the request asks for, and answer when there is enough of it.

        Kafka: `KafkaApis.handleFetchRequest`.
        """
        body, version = request.body_of(FetchRequest), request.header.api_version
        # 1. The session, which may have partitions that the request does not name.
        context = self._fetch_manager.new_context(
            version,
            FetchMetadata(body.session_id, body.session_epoch),
            _replica(request)[0] >= 0,
            self._requested(body, version),
            self._forgotten(body, version),
            self._metadata_cache.get_topic_name,
        )
        # 2. Which partitions may be read, and are there? The others get their errors behind the rest.
        interesting, erroneous = self._sorted(request, context.partitions())

        def send_response(read: Sequence[tuple[TopicIdPartition, FetchPartitionData]]) -> None:
            self._request_channel.send_response(request, self._response(request, context, read, erroneous))

        if not interesting:
            send_response([])
            return
        # 3. How much is wanted, by whom, and how far it may see.
        params = self._params(request)
        request.waits_for = f"{params.min_bytes} bytes for at most {params.max_wait_ms} ms"
        # 4. Read; the answer comes now or later.
        self._replica_manager.fetch_messages(params, interesting, send_response)

    def _requested(self, body: FetchRequest, version: int) -> dict[TopicIdPartition, FetchRequestPartitionData]:
        """Every partition with its topic's id and name ("" if no topic has the id); of one that is named twice the last
        question counts, in the place of the first. Kafka: `FetchRequest.fetchData`.
        """
        requested: dict[TopicIdPartition, FetchRequestPartitionData] = {}
        for topic in body.topics:
            name = self._name(topic, version)
            for partition in topic.partitions:
                key = TopicIdPartition(topic.topic_id, TopicPartition(name, partition.partition))
                requested[key] = FetchRequestPartitionData(
                    topic.topic_id,
                    partition.fetch_offset,
                    partition.log_start_offset,
                    partition.partition_max_bytes,
                    _optional_epoch(partition.current_leader_epoch),
                    _optional_epoch(partition.last_fetched_epoch),
                )
        return requested

    def _forgotten(self, body: FetchRequest, version: int) -> list[TopicIdPartition]:
        """The partitions that the request's session is not to have any more. Kafka: `FetchRequest.forgottenTopics`."""
        return [
            TopicIdPartition(topic.topic_id, TopicPartition(self._name(topic, version), index))
            for topic in body.forgotten_topics_data
            for index in topic.partitions
        ]

    def _name(self, topic: FetchRequest.FetchTopic | FetchRequest.ForgottenTopic, version: int) -> str:
        if version < FIRST_VERSION_WITH_TOPIC_IDS:
            return topic.topic
        return self._metadata_cache.get_topic_name(topic.topic_id) or ""

    def _sorted(self, request: Request, requested: list[_Partition]) -> tuple[list[_Partition], list[_Answer]]:
        """Those partitions that can be read, and the errors of the others. Followers need a right of their own."""
        by_id = request.header.api_version >= FIRST_VERSION_WITH_TOPIC_IDS
        interesting: list[_Partition] = []
        erroneous: list[_Answer] = []

        def refuse(key: TopicIdPartition, error: Errors) -> None:
            erroneous.append((key, fetch_partition_response(key.partition, error)))

        if _replica(request)[0] >= 0:
            if not self._auth_helper.authorize(request, AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER):
                for key, _ in requested:
                    refuse(key, Errors.TOPIC_AUTHORIZATION_FAILED)
                return [], erroneous
            for key, data in requested:
                if by_id and not key.topic:
                    refuse(key, Errors.UNKNOWN_TOPIC_ID)
                elif not self._metadata_cache.contains(key.topic_partition):
                    refuse(key, Errors.UNKNOWN_TOPIC_OR_PARTITION)
                else:
                    interesting.append((key, data))
            return interesting, erroneous
        named = []
        for key, data in requested:
            if by_id and not key.topic:
                refuse(key, Errors.UNKNOWN_TOPIC_ID)
            else:
                named.append((key, data))
        readable = self._auth_helper.filter_by_authorized(
            request, AclOperation.READ, ResourceType.TOPIC, (key.topic for key, _ in named)
        )
        for key, data in named:
            if key.topic not in readable:
                refuse(key, Errors.TOPIC_AUTHORIZATION_FAILED)
            elif not self._metadata_cache.contains(key.topic_partition):
                refuse(key, Errors.UNKNOWN_TOPIC_OR_PARTITION)
            else:
                interesting.append((key, data))
        return interesting, erroneous

    def _params(self, request: Request) -> FetchParams:
        body, header = request.body_of(FetchRequest), request.header
        replica_id, replica_epoch = _replica(request)
        max_bytes = min(body.max_bytes, self._config.fetch_max_bytes)
        client_metadata = None
        if header.api_version >= FIRST_VERSION_WITH_CLIENT_METADATA:
            client_metadata = ClientMetadata(
                body.rack_id, header.client_id, request.client_address, request.principal, request.listener_name
            )
        read_committed = IsolationLevel(body.isolation_level) is IsolationLevel.READ_COMMITTED
        return FetchParams(
            replica_id,
            replica_epoch,
            body.max_wait_ms,
            min(body.min_bytes, max_bytes),
            max_bytes,
            FetchIsolation.of(replica_id, read_committed),
            client_metadata,
        )

    def _response(
        self,
        request: Request,
        context: FetchContext,
        read: Sequence[tuple[TopicIdPartition, FetchPartitionData]],
        erroneous: list[_Answer],
    ) -> FetchResponse:
        """The response with what was read, and then the errors. Kafka: its function `processResponseCallback`."""
        version = request.header.api_version
        leaders: dict[int, Node] = {}
        answers: dict[TopicIdPartition, PartitionData] = {}
        for key, data in read:
            answer = answers[key] = _partition_data(version, key.partition, data)
            if version >= FIRST_VERSION_WITH_LEADERS and data.error in _ERRORS_THAT_NAME_THE_LEADER:
                leader = self._current_leaders.get(key.topic_partition, request.listener_name)
                answer.current_leader.leader_id = leader.leader_id
                answer.current_leader.leader_epoch = leader.leader_epoch
                if leader.node is not None:
                    leaders[leader.node.id] = leader.node
        answers.update(erroneous)
        is_from_follower = _replica(request)[0] >= 0
        endpoints = [] if is_from_follower else node_endpoints(FetchResponse.NodeEndpoint, leaders)
        return context.update_and_generate_response_data(answers, endpoints)


_ERRORS_THAT_NAME_THE_LEADER = (Errors.NOT_LEADER_OR_FOLLOWER, Errors.FENCED_LEADER_EPOCH)


def _replica(request: Request) -> tuple[int, int]:
    """The id of the broker that follows, and its epoch; each −1 if not told. Kafka: `FetchRequest.replicaId`."""
    body = request.body_of(FetchRequest)
    with_state = request.header.api_version >= FIRST_VERSION_WITH_REPLICA_STATE
    return body.replica_state.replica_id if with_state else body.replica_id, body.replica_state.replica_epoch


def _optional_epoch(epoch: int) -> int | None:
    return None if epoch < 0 else epoch


def _partition_data(version: int, index: int, data: FetchPartitionData) -> PartitionData:
    """Old clients do not know the storage error, and ask somebody else at NOT_LEADER_OR_FOLLOWER."""
    error = data.error
    if error is Errors.KAFKA_STORAGE_ERROR and version <= LAST_VERSION_WITHOUT_STORAGE_ERROR:
        error = Errors.NOT_LEADER_OR_FOLLOWER
    answer = PartitionData(
        partition_index=index,
        error_code=error,
        high_watermark=data.high_watermark,
        last_stable_offset=INVALID_LAST_STABLE_OFFSET if data.last_stable_offset is None else data.last_stable_offset,
        log_start_offset=data.log_start_offset,
        aborted_transactions=None,
        preferred_read_replica=INVALID_PREFERRED_REPLICA_ID
        if data.preferred_read_replica is None
        else data.preferred_read_replica,
        records=_bytes_of(data.records),
    )
    if data.aborted_transactions is not None:
        answer.aborted_transactions = [
            PartitionData.AbortedTransaction(producer_id=aborted.producer_id, first_offset=aborted.first_offset)
            for aborted in data.aborted_transactions
        ]
    if data.diverging_epoch is not None:
        answer.diverging_epoch.epoch = data.diverging_epoch.leader_epoch
        answer.diverging_epoch.end_offset = data.diverging_epoch.end_offset
    return answer


def _bytes_of(records: FileRecords | MemoryRecords) -> BytesLike:
    """Kafka lets the kernel send the file's bytes; here they are read when the response is made."""
    return records.buffer if isinstance(records, MemoryRecords) else records.read(0, records.size_in_bytes)
