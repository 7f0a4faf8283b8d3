"""Produce, key 0, versions 3–13: batches are appended to logs, and acknowledged when their replicas have them.

What Kafka does:

- Transactional batches need a transactional id that the client may write with, else the whole request is refused.
- A topic needs the right WRITE. Which partitions there are is told only to those who have it.
- Each partition brings one batch of format v2. A partition without records (null) leaves the request without an answer.
- With acks 0 there is no answer; where something has failed, the connection is closed, so that the producer asks for
  metadata. With acks 1 the leader's append is enough, with −1 all in-sync replicas have to have it.

Versions: 7 takes zstd, 8 tells which records of a batch are bad, 9 has tagged fields, 10 names the leader where another
broker leads, 11 and 12 are about transactions, 13 has topic ids instead of names. Clients are told that versions begin
at 0, for the sake of a library; those below 3 are refused.
"""

import logging
from collections.abc import Iterable, Mapping
from functools import lru_cache

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.broker.current_leaders import CurrentLeaders, node_endpoints
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    ApiException,
    InvalidRecordException,
    NullPointerException,
    UnsupportedCompressionTypeException,
)
from minikafka.common.node import Node
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.messages.apis import ProduceRequest, ProduceResponse
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.batch_header import MAGIC_VALUE_V2
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.server.add_partitions_to_txn_manager import TransactionSupportedOperation
from minikafka.server.produce_partition_status import PartitionResponse
from minikafka.server.replica_manager import ReplicaManager

logger = logging.getLogger(__name__)

# Looked up once: before Python 3.12, `Errors.NONE` takes longer than a call.
_NONE = Errors.NONE
_NOT_LEADER_OR_FOLLOWER = Errors.NOT_LEADER_OR_FOLLOWER
_TOPIC = ResourceType.TOPIC
_transaction_supported_operation = TransactionSupportedOperation.of_produce_version
_WRITE = AclOperation.WRITE

ADMIN_CLIENT_ID = "__admin_client"
FIRST_VERSION_WITH_TOPIC_IDS = 13
FIRST_VERSION_WITH_LEADERS = 10
FIRST_VERSION_WITH_ZSTD = 7

TopicProduceResponse = ProduceResponse.TopicProduceResponse
PartitionProduceResponse = TopicProduceResponse.PartitionProduceResponse

_Status = dict[TopicIdPartition, PartitionResponse]


class ProduceHandler:
    """Sorts the partitions of a produce request, has the good ones appended, and answers for all.

    Simpler than Kafka: no quotas, no metrics. Kafka: `KafkaApis.handleProduceRequest`.
    """

    def __init__(
        self,
        replica_manager: ReplicaManager,
        metadata_cache: MetadataCache,
        auth_helper: AuthHelper,
        request_channel: RequestChannel,
        current_leaders: CurrentLeaders,
    ):
        self._replica_manager = replica_manager
        self._metadata_cache = metadata_cache
        self._auth_helper = auth_helper
        self._request_channel = request_channel
        self._current_leaders = current_leaders

    def handle_produce_request(self, request: Request) -> None:
        """Append what the request brings, and answer when its acks are there.

        Without acks (0) there is no answer; if something fails, the connection is closed, so that the producer asks for
        metadata. Raises what the replica manager raises for the request as a whole. Kafka: `handleProduceRequest`.
        """
        body, version = request.body_of(ProduceRequest), request.header.api_version
        requested = self._requested(body)
        # 1. Transactional batches need a transactional id, and the right to write with it.
        if _has_transactional_records(requested):
            transactional_id = body.transactional_id
            if transactional_id is None or not self._auth_helper.authorize(
                request, _WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
            ):
                self._request_channel.send_error_response(request, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
                return
        unauthorized: _Status = {}
        non_existing: _Status = {}
        invalid: _Status = {}
        authorized: dict[TopicIdPartition, MemoryRecords] = {}
        # 2. A topic id that does not exist: only request versions with ids have an error for it.
        known = []
        for topic_id_partition, records in requested:
            if not topic_id_partition.topic_partition.topic and version >= FIRST_VERSION_WITH_TOPIC_IDS:
                non_existing[topic_id_partition] = PartitionResponse(Errors.UNKNOWN_TOPIC_ID)
            else:
                known.append((topic_id_partition, records))
        # 3. Which topics may be written? Each is asked about once.
        writable = self._auth_helper.filter_by_authorized(
            request, _WRITE, _TOPIC, [key.topic_partition.topic for key, _ in known]
        )
        for topic_id_partition, records in known:
            # 4. Does the partition exist? (A user who may not write to the topic does not learn it.)
            topic_partition = topic_id_partition.topic_partition
            if topic_partition.topic not in writable:
                unauthorized[topic_id_partition] = PartitionResponse(Errors.TOPIC_AUTHORIZATION_FAILED)
                continue
            if self._metadata_cache.get_partition(topic_partition) is None:
                non_existing[topic_id_partition] = PartitionResponse(Errors.UNKNOWN_TOPIC_OR_PARTITION)
                continue
            # 5. One batch, of a format and compression that this version allows.
            try:
                authorized[topic_id_partition] = validate_records(version, records)
            except ApiException as error:
                invalid[topic_id_partition] = PartitionResponse(Errors.for_exception(error))

        def send_response(status: Mapping[TopicIdPartition, PartitionResponse]) -> None:
            self._send_response(request, body.acks, {**status, **unauthorized, **non_existing, **invalid})

        # 6. Append the rest; the answer comes now or later.
        if not authorized:
            send_response({})
            return
        self._replica_manager.handle_produce_append(
            body.timeout_ms,
            body.acks,
            request.header.client_id == ADMIN_CLIENT_ID,  # who may write to internal topics
            body.transactional_id,
            authorized,
            send_response,
            _transaction_supported_operation(version),
        )
        if not request.is_answered:
            request.waits_for = "the replicas of " + ", ".join(str(key.topic_partition) for key in authorized)

    def _requested(self, body: ProduceRequest) -> list[tuple[TopicIdPartition, MemoryRecords | None]]:
        """Every partition with its topic's id and name, as far as they are known, and its records."""
        requested = []
        for topic in body.topic_data:
            if topic.topic_id == ZERO_UUID:
                name, topic_id = topic.name, self._metadata_cache.get_topic_id(topic.name)
            else:
                name, topic_id = self._metadata_cache.get_topic_name(topic.topic_id) or topic.name, topic.topic_id
            make_key = _topic_id_partition if topic_id == ZERO_UUID else known_topic_id_partition
            for partition in topic.partition_data:
                key = make_key(topic_id, name, partition.index)
                records = None if partition.records is None else MemoryRecords(partition.records)
                requested.append((key, records))
        return requested

    def _send_response(self, request: Request, acks: int, merged: _Status) -> None:
        """Answer for all partitions. Kafka: `handleProduceRequest`, its function `sendResponseCallback`."""
        has_failed = False
        for key, answer in merged.items():
            if answer.error is not _NONE:
                has_failed = True
                logger.debug("%s: %s failed: %s", request, key.topic_partition, answer.error.name)
        if acks == 0:
            if has_failed:
                self._request_channel.close_connection(request)
            else:
                self._request_channel.send_no_op_response(request)
            return
        self._request_channel.send_response(request, self._response(request, merged))

    def _response(self, request: Request, merged: Mapping[TopicIdPartition, PartitionResponse]) -> ProduceResponse:
        """The response with these answers, grouped by topic. Kafka: `ProduceResponse.toData`."""
        version = request.header.api_version
        response = ProduceResponse()
        leaders: dict[int, Node] = {}
        topics: dict[tuple[str, str], TopicProduceResponse] = {}
        for (topic_id, topic_partition), answer in merged.items():
            name, index = topic_partition
            topic = topics.get((name, topic_id))
            if topic is None:
                topic = topics[name, topic_id] = TopicProduceResponse()
                topic.name, topic.topic_id = name, topic_id
                response.responses.append(topic)
            part = _partition_response(index, answer)
            if answer.error is _NOT_LEADER_OR_FOLLOWER and version >= FIRST_VERSION_WITH_LEADERS:
                leader = self._current_leaders.get(topic_partition, request.listener_name)
                part.current_leader.leader_id, part.current_leader.leader_epoch = leader.leader_id, leader.leader_epoch
                if leader.node is not None:
                    leaders[leader.node.id] = leader.node
            topic.partition_responses.append(part)
        if leaders:
            response.node_endpoints = node_endpoints(ProduceResponse.NodeEndpoint, leaders)
        return response


def _topic_id_partition(topic_id: str, topic: str, partition: int) -> TopicIdPartition:
    return TopicIdPartition(topic_id, TopicPartition(topic, partition))


known_topic_id_partition = lru_cache(maxsize=1 << 14)(_topic_id_partition)
"""The same object for each request, since making it takes longer than finding it.

Only for topics that are there: anybody may make up names, which are longer, too.
"""


def validate_records(version: int, records: MemoryRecords | None) -> MemoryRecords:
    """`records`, if they are one batch that a Produce request of `version` may bring.

    Raises InvalidRecordException for no batch, more than one, or one not of format v2;
    UnsupportedCompressionTypeException for zstd before version 7; NullPointerException for None, of which nobody
    thought: Kafka stumbles over it later, but before anything is appended. Kafka: `ProduceRequest.validateRecords`.
    """
    if records is None:
        raise NullPointerException("a partition without records")
    batches = records.batches()
    first = next(batches, None)
    if first is None:
        raise InvalidRecordException(
            f"Produce requests with version {version} must have at least one record batch per partition"
        )
    if first.magic != MAGIC_VALUE_V2:
        raise InvalidRecordException(
            f"Produce requests with version {version} are only allowed to contain record batches with magic version 2"
        )
    if version < FIRST_VERSION_WITH_ZSTD and first.compression_type == CompressionType.ZSTD:
        raise UnsupportedCompressionTypeException(
            f"Produce requests with version {version} are not allowed to use ZStandard compression"
        )
    if next(batches, None) is not None:
        raise InvalidRecordException(
            f"Produce requests with version {version} are only allowed to contain exactly one record batch per "
            "partition"
        )
    return records


def _has_transactional_records(requested: Iterable[tuple[TopicIdPartition, MemoryRecords | None]]) -> bool:
    """Whether any first batch is part of a transaction. Kafka: `RequestUtils.hasTransactionalRecords`."""
    for _, records in requested:
        first = None if records is None else next(records.batches(), None)
        if first is not None and first.is_transactional:
            return True
    return False


def _partition_response(index: int, answer: PartitionResponse) -> PartitionProduceResponse:
    part = PartitionProduceResponse()  # to give all of them by name would take twice as long
    part.index = index
    part.error_code = answer.error
    part.base_offset = answer.base_offset
    part.log_append_time_ms = answer.log_append_time
    part.log_start_offset = answer.log_start_offset
    part.error_message = answer.error_message
    for error in answer.record_errors:
        part.record_errors.append(
            PartitionProduceResponse.BatchIndexAndErrorMessage(
                batch_index=error.batch_index, batch_index_error_message=error.message
            )
        )
    return part
