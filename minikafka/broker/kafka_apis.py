"""Where every request arrives: which API it asks for, and who serves it."""

import logging
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, Authorizer, ResourceType
from minikafka.broker.auto_topic_creation_manager import AutoTopicCreationManager
from minikafka.broker.config_admin_manager import ConfigAdminManager
from minikafka.broker.config_helper import ConfigHelper
from minikafka.broker.controller_apis import ControllerApis, TopicController
from minikafka.broker.current_leaders import CurrentLeaders
from minikafka.broker.describe_cluster_handler import DescribeClusterHandler
from minikafka.broker.describe_log_dirs_handler import DescribeLogDirsHandler
from minikafka.broker.describe_producers_handler import DescribeProducersHandler
from minikafka.broker.describe_topic_partitions_handler import DescribeTopicPartitionsHandler
from minikafka.broker.fetch_handler import FetchHandler
from minikafka.broker.list_config_resources_handler import ListConfigResourcesHandler
from minikafka.broker.metadata_handler import MetadataHandler
from minikafka.broker.produce_handler import ProduceHandler
from minikafka.broker.producer_id_manager import ProducerIdManager
from minikafka.common.error_codes import Errors
from minikafka.common.errors import UnsupportedVersionException
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.topic_partition import TopicPartition
from minikafka.messages.apis import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.api_key import PRODUCE_API_VERSIONS_RESPONSE_MIN_VERSION
from minikafka.network.api_keys import ApiKeys
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.record.format.batch_header import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.delayed_delete_records import INVALID_LOW_WATERMARK, DeleteRecordsPartitionResult
from minikafka.server.dynamic_broker_config import DynamicBrokerConfig
from minikafka.server.fetch_manager import FetchManager
from minikafka.server.replica_manager import ReplicaManager

logger = logging.getLogger(__name__)

_SOFTWARE_NAME_VERSION = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

_Handler: TypeAlias = Callable[[Request], None]
_Deleted: TypeAlias = dict[TopicPartition, DeleteRecordsPartitionResult]


class KafkaApis:
    """Hands each request to its handler, and answers for handlers that fail.

    Invariants:

    1. A request is answered at most once: by its handler, by an operation that waits for it, or here, with an error.
       One for which Kafka has no answer (`handle` names it) gets none.
    2. What an append has made possible is done at the end of `handle`, when no lock is held.
    3. What is advertised is served. An API that is not served is answered all the same, with UNSUPPORTED_VERSION in its
       own kind of response, wherever that has a place for an error.

    Simpler than Kafka: no groups, transactions, share groups, quotas, tokens and telemetry; requests for the controller
    are decided in the same process instead of forwarded; nothing is throttled.

    Kafka: `kafka.server.KafkaApis`.
    """

    def __init__(
        self,
        request_channel: RequestChannel,
        replica_manager: ReplicaManager,
        metadata_cache: MetadataCache,
        config: BrokerConfig,
        dynamic_config: DynamicBrokerConfig,
        controller: TopicController,
        producer_id_manager: ProducerIdManager,
        fetch_manager: FetchManager,
        *,
        authorizer: Authorizer | None = None,
        cluster_id: str = "",
    ):
        self._request_channel = request_channel
        self._replica_manager = replica_manager
        self._metadata_cache = metadata_cache
        self._producer_id_manager = producer_id_manager
        self._auth_helper = AuthHelper(authorizer)
        current_leaders = CurrentLeaders(replica_manager, metadata_cache)
        produce = ProduceHandler(replica_manager, metadata_cache, self._auth_helper, request_channel, current_leaders)
        fetch = FetchHandler(
            replica_manager, metadata_cache, self._auth_helper, request_channel, current_leaders, config, fetch_manager
        )
        metadata = MetadataHandler(
            metadata_cache,
            self._auth_helper,
            request_channel,
            AutoTopicCreationManager(config, controller),
            config,
            cluster_id,
        )
        configs = ConfigHelper(metadata_cache, dynamic_config, self._auth_helper, request_channel)
        cluster = DescribeClusterHandler(metadata_cache, self._auth_helper, request_channel, cluster_id)
        topics = DescribeTopicPartitionsHandler(metadata_cache, self._auth_helper, request_channel, config)
        log_dirs = DescribeLogDirsHandler(replica_manager, self._auth_helper, request_channel)
        producers = DescribeProducersHandler(replica_manager, metadata_cache, self._auth_helper, request_channel)
        resources = ListConfigResourcesHandler(metadata_cache, self._auth_helper, request_channel)
        self._controller_apis = ControllerApis(controller, self._auth_helper, config)
        altered = ConfigAdminManager(
            metadata_cache, dynamic_config, self._auth_helper, request_channel, self._controller_apis
        )
        self._handlers: dict[ApiKeys, _Handler] = {
            ApiKeys.PRODUCE: produce.handle_produce_request,
            ApiKeys.FETCH: fetch.handle_fetch_request,
            ApiKeys.LIST_OFFSETS: self.handle_list_offset_request,
            ApiKeys.METADATA: metadata.handle_topic_metadata_request,
            ApiKeys.API_VERSIONS: self.handle_api_versions_request,
            ApiKeys.CREATE_TOPICS: self.handle_create_topics_request,
            ApiKeys.DELETE_TOPICS: self.handle_delete_topics_request,
            ApiKeys.DELETE_RECORDS: self.handle_delete_records_request,
            ApiKeys.INIT_PRODUCER_ID: self.handle_init_producer_id_request,
            ApiKeys.OFFSET_FOR_LEADER_EPOCH: self.handle_offset_for_leader_epoch_request,
            ApiKeys.DESCRIBE_CONFIGS: configs.handle_describe_configs_request,
            ApiKeys.ALTER_CONFIGS: altered.handle_alter_configs_request,
            ApiKeys.INCREMENTAL_ALTER_CONFIGS: altered.handle_incremental_alter_configs_request,
            ApiKeys.CREATE_PARTITIONS: self.handle_create_partitions_request,
            ApiKeys.DESCRIBE_LOG_DIRS: log_dirs.handle_describe_log_dirs_request,
            ApiKeys.DESCRIBE_CLUSTER: cluster.handle_describe_cluster,
            ApiKeys.DESCRIBE_PRODUCERS: producers.handle_describe_producers_request,
            ApiKeys.DESCRIBE_TOPIC_PARTITIONS: topics.handle_describe_topic_partitions_request,
            ApiKeys.LIST_CONFIG_RESOURCES: resources.handle_list_config_resources,
        }

    @property
    def served(self) -> list[ApiKeys]:
        """The APIs with a handler, in the order in which clients are told of them: by their place in `ApiKeys`."""
        return [api_key for api_key in ApiKeys if api_key in self._handlers]

    def handle(self, request: Request) -> None:
        """Serve `request`: it is answered when this returns, or later, by what it waits for.

        Whatever a handler raises becomes an error response. Only a produce request without records is left without any
        answer, as by Kafka. Kafka: `KafkaApis.handle`.
        """
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s: arrived, %d bytes", request, request.size_in_bytes)
        try:
            # 1. Which handler serves it? (`Request.parse` has checked that its version is enabled.)
            self._handlers.get(request.header.api_key, self._handle_unserved)(request)
        except Exception as error:
            # 2. An error that the handler did not expect is answered, too.
            logger.exception("Unexpected error handling request %s", request)
            self._request_channel.send_error_response(request, error)
        finally:
            # 3. Complete requests that wait, now that no lock is held.
            self._replica_manager.try_complete_actions()
        if not request.is_answered:
            logger.debug("%s: waits for %s", request, request.waits_for)

    # What has no handler, and what fails

    def _handle_unserved(self, request: Request) -> None:
        error = UnsupportedVersionException(f"{request.header.api_key.name} is not served here")
        self._request_channel.send_error_response(request, error)

    # Versions

    def handle_api_versions_request(self, request: Request) -> None:
        """Tell which APIs are served, in which versions; a version that is unknown itself is told that.

        Simpler than Kafka: there are no features, of which Kafka tells here, too.
        Kafka: `KafkaApis.handleApiVersionsRequest`.
        """
        body, header = request.body_of(ApiVersionsRequest), request.header
        if not header.is_api_version_supported:
            self._request_channel.send_error_response(request, Errors.UNSUPPORTED_VERSION)
            return
        software = (body.client_software_name, body.client_software_version)
        if header.api_version >= 3 and not all(_SOFTWARE_NAME_VERSION.fullmatch(text) for text in software):
            self._request_channel.send_error_response(request, Errors.INVALID_REQUEST)
            return
        response = ApiVersionsResponse()
        for api_key in self.served:
            lowest, highest = api_key.stable_versions
            if api_key is ApiKeys.PRODUCE:
                lowest = PRODUCE_API_VERSIONS_RESPONSE_MIN_VERSION
            response.api_keys.append(
                ApiVersionsResponse.ApiVersion(api_key=api_key, min_version=lowest, max_version=highest)
            )
        self._request_channel.send_response(request, response)

    # Offsets

    def handle_list_offset_request(self, request: Request) -> None:
        """Find offsets by timestamps. Kafka: `KafkaApis.handleListOffsetRequest`."""
        body = request.body_of(ListOffsetsRequest)
        allowed = self._auth_helper.filter_by_authorized(
            request, AclOperation.DESCRIBE, ResourceType.TOPIC, (topic.name for topic in body.topics)
        )
        authorized = [topic for topic in body.topics if topic.name in allowed]
        refused = [_unauthorized_offsets(topic) for topic in body.topics if topic.name not in allowed]

        def send_response(found: list[ListOffsetsResponse.ListOffsetsTopicResponse]) -> None:
            self._request_channel.send_response(request, ListOffsetsResponse(topics=[*found, *refused]))

        if not authorized:
            send_response([])
            return
        self._replica_manager.fetch_offset(
            authorized,
            _duplicate_partitions(body.topics),
            IsolationLevel(body.isolation_level),
            body.replica_id,
            request.header.api_version,
            send_response,
        )

    def handle_offset_for_leader_epoch_request(self, request: Request) -> None:
        """Tell where leader epochs end. Brokers may ask about any topic, clients about those they may describe.

        Kafka: `KafkaApis.handleOffsetForLeaderEpochRequest`.
        """
        topics = request.body_of(OffsetForLeaderEpochRequest).topics
        allowed = {topic.topic for topic in topics}
        if not self._auth_helper.authorize(request, AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER):
            allowed = self._auth_helper.filter_by_authorized(
                request, AclOperation.DESCRIBE, ResourceType.TOPIC, (topic.topic for topic in topics)
            )
        results = self._replica_manager.last_offset_for_leader_epoch(
            [topic for topic in topics if topic.topic in allowed]
        )
        refused = [_unauthorized_epochs(topic) for topic in topics if topic.topic not in allowed]
        self._request_channel.send_response(request, OffsetForLeaderEpochResponse(topics=[*results, *refused]))

    # Deletion of records

    def handle_delete_records_request(self, request: Request) -> None:
        """Delete records below offsets; the answer comes when all alive replicas have done so.

        Kafka: `KafkaApis.handleDeleteRecordsRequest`.
        """
        body = request.body_of(DeleteRecordsRequest)
        unauthorized: _Deleted = {}
        non_existing: _Deleted = {}
        offsets: dict[TopicPartition, int] = {}
        allowed = self._auth_helper.filter_by_authorized(
            request, AclOperation.DELETE, ResourceType.TOPIC, (topic.name for topic in body.topics)
        )
        for topic in body.topics:
            for asked in topic.partitions:
                topic_partition = TopicPartition(topic.name, asked.partition_index)
                if topic.name not in allowed:
                    refusal = DeleteRecordsPartitionResult(INVALID_LOW_WATERMARK, Errors.TOPIC_AUTHORIZATION_FAILED)
                    unauthorized[topic_partition] = refusal
                elif not self._metadata_cache.contains(topic_partition):
                    refusal = DeleteRecordsPartitionResult(INVALID_LOW_WATERMARK, Errors.UNKNOWN_TOPIC_OR_PARTITION)
                    non_existing[topic_partition] = refusal
                else:
                    offsets[topic_partition] = asked.offset

        def send_response(deleted: Mapping[TopicPartition, DeleteRecordsPartitionResult]) -> None:
            response = _delete_records_response({**deleted, **unauthorized, **non_existing})
            self._request_channel.send_response(request, response)

        if not offsets:
            send_response({})
            return
        request.waits_for = "the log starts of the replicas of " + ", ".join(map(str, offsets))
        self._replica_manager.delete_records(body.timeout_ms, offsets, send_response)

    # Producers

    def handle_init_producer_id_request(self, request: Request) -> None:
        """Give an idempotent producer its id; for transactions there is no coordinator yet.

        Kafka: `KafkaApis.handleInitProducerIdRequest`, `TransactionCoordinator.handleInitProducerId`.
        """
        body = request.body_of(InitProducerIdRequest)
        transactional_id = body.transactional_id
        if transactional_id is not None:
            if not self._auth_helper.authorize(
                request, AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
            ):
                self._request_channel.send_error_response(request, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
                return
        elif not (
            self._auth_helper.authorize(request, AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER)
            or self._auth_helper.authorize_by_resource_type(request, AclOperation.WRITE, ResourceType.TOPIC)
        ):
            self._request_channel.send_error_response(request, Errors.CLUSTER_AUTHORIZATION_FAILED)
            return
        if (body.producer_id == NO_PRODUCER_ID) != (body.producer_epoch == NO_PRODUCER_EPOCH):
            self._request_channel.send_error_response(request, Errors.INVALID_REQUEST)
        elif transactional_id is None:
            producer_id = self._producer_id_manager.generate_producer_id()
            response = InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
            self._request_channel.send_response(request, response)
        else:
            self._request_channel.send_error_response(
                request, Errors.COORDINATOR_NOT_AVAILABLE if transactional_id else Errors.INVALID_REQUEST
            )

    # What the controller decides

    def handle_create_topics_request(self, request: Request) -> None:
        """Make topics. Kafka: `KafkaApis.forwardToController`, `ControllerApis.handleCreateTopics`."""
        self._request_channel.send_response(request, self._controller_apis.create_topics(request))

    def handle_delete_topics_request(self, request: Request) -> None:
        """Delete topics. Kafka: `KafkaApis.forwardToController`, `ControllerApis.handleDeleteTopics`."""
        self._request_channel.send_response(request, self._controller_apis.delete_topics(request))

    def handle_create_partitions_request(self, request: Request) -> None:
        """Give topics more partitions. Kafka: `forwardToController`, `ControllerApis.handleCreatePartitions`."""
        self._request_channel.send_response(request, self._controller_apis.create_partitions(request))


def _duplicate_partitions(topics: list[ListOffsetsRequest.ListOffsetsTopic]) -> set[TopicPartition]:
    """The partitions that are named more than once. Kafka: `ListOffsetsRequest.duplicatePartitions`."""
    seen: set[TopicPartition] = set()
    twice: set[TopicPartition] = set()
    for topic in topics:
        for asked in topic.partitions:
            topic_partition = TopicPartition(topic.name, asked.partition_index)
            (twice if topic_partition in seen else seen).add(topic_partition)
    return twice


def _unauthorized_offsets(
    topic: ListOffsetsRequest.ListOffsetsTopic,
) -> ListOffsetsResponse.ListOffsetsTopicResponse:
    make_topic = ListOffsetsResponse.ListOffsetsTopicResponse
    partitions = [
        make_topic.ListOffsetsPartitionResponse(
            partition_index=asked.partition_index, error_code=Errors.TOPIC_AUTHORIZATION_FAILED
        )
        for asked in topic.partitions
    ]
    return make_topic(name=topic.name, partitions=partitions)


def _unauthorized_epochs(
    topic: OffsetForLeaderEpochRequest.OffsetForLeaderTopic,
) -> OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult:
    make_topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    partitions = [
        make_topic.EpochEndOffset(partition=asked.partition, error_code=Errors.TOPIC_AUTHORIZATION_FAILED)
        for asked in topic.partitions
    ]
    return make_topic(topic=topic.topic, partitions=partitions)


def _delete_records_response(results: Mapping[TopicPartition, DeleteRecordsPartitionResult]) -> DeleteRecordsResponse:
    make_topic = DeleteRecordsResponse.DeleteRecordsTopicResult
    make_partition = make_topic.DeleteRecordsPartitionResult
    by_topic = {key.topic: make_topic(name=key.topic) for key in results}
    for key, result in results.items():
        by_topic[key.topic].partitions.append(
            make_partition(partition_index=key.partition, low_watermark=result.low_watermark, error_code=result.error)
        )
    return DeleteRecordsResponse(topics=list(by_topic.values()))
