"""Where every request arrives: which API it asks for, and who serves it. A new API gets a module and its lines here."""

import logging
from collections.abc import Callable
from typing import TypeAlias

from minikafka.broker.alter_configs_handler import AlterConfigsHandler
from minikafka.broker.api_versions_handler import ApiVersionsHandler
from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import Authorizer
from minikafka.broker.auto_topic_creation_manager import AutoTopicCreationManager
from minikafka.broker.config_admin_manager import ConfigAdminManager
from minikafka.broker.consumer_group_heartbeat_handler import ConsumerGroupHeartbeatHandler
from minikafka.broker.create_partitions_handler import CreatePartitionsHandler
from minikafka.broker.create_topics_handler import CreateTopicsHandler
from minikafka.broker.current_leaders import CurrentLeaders
from minikafka.broker.delete_records_handler import DeleteRecordsHandler
from minikafka.broker.delete_topics_handler import DeleteTopicsHandler
from minikafka.broker.describe_cluster_handler import DescribeClusterHandler
from minikafka.broker.describe_configs_handler import DescribeConfigsHandler
from minikafka.broker.describe_log_dirs_handler import DescribeLogDirsHandler
from minikafka.broker.describe_producers_handler import DescribeProducersHandler
from minikafka.broker.describe_topic_partitions_handler import DescribeTopicPartitionsHandler
from minikafka.broker.fetch_handler import FetchHandler
from minikafka.broker.find_coordinator_handler import FindCoordinatorHandler
from minikafka.broker.incremental_alter_configs_handler import IncrementalAlterConfigsHandler
from minikafka.broker.init_producer_id_handler import InitProducerIdHandler
from minikafka.broker.join_group_handler import JoinGroupHandler
from minikafka.broker.list_config_resources_handler import ListConfigResourcesHandler
from minikafka.broker.list_offsets_handler import ListOffsetsHandler
from minikafka.broker.metadata_handler import MetadataHandler
from minikafka.broker.offset_fetch_handler import OffsetFetchHandler
from minikafka.broker.offset_for_leader_epoch_handler import OffsetForLeaderEpochHandler
from minikafka.broker.produce_handler import ProduceHandler
from minikafka.broker.producer_id_manager import ProducerIdManager
from minikafka.broker.topic_controller import TopicController
from minikafka.common.errors import UnsupportedVersionException
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.api_keys import ApiKeys
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.dynamic_broker_config import DynamicBrokerConfig
from minikafka.server.fetch_manager import FetchManager
from minikafka.server.replica_manager import ReplicaManager

logger = logging.getLogger(__name__)

_Handler: TypeAlias = Callable[[Request], None]


class KafkaApis:
    """Hands each request to its handler, and answers for handlers that fail.

    Invariants:

    1. A request is answered at most once: by its handler, by an operation that waits for it, or here, with an error.
       One for which Kafka has no answer (`handle` names it) gets none.
    2. What an append has made possible is done at the end of `handle`, when no lock is held.
    3. What is advertised is served. An API that is not served is answered all the same, with UNSUPPORTED_VERSION in its
       own kind of response, wherever that has a place for an error.

    Simpler than Kafka: no groups, transactions, share groups, quotas, tokens and telemetry; requests for the controller
    are decided in the same process instead of forwarded; nothing is throttled. What clients ask first of groups and
    transactions has handlers all the same, which refuse it, so that no client waits.

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
        auth_helper = AuthHelper(authorizer)
        current_leaders = CurrentLeaders(replica_manager, metadata_cache)
        topic_creation = AutoTopicCreationManager(config, controller)
        config_admin_manager = ConfigAdminManager(metadata_cache, dynamic_config, auth_helper)
        produce = ProduceHandler(replica_manager, metadata_cache, auth_helper, request_channel, current_leaders)
        fetch = FetchHandler(
            replica_manager, metadata_cache, auth_helper, request_channel, current_leaders, config, fetch_manager
        )
        list_offsets = ListOffsetsHandler(replica_manager, auth_helper, request_channel)
        metadata = MetadataHandler(metadata_cache, auth_helper, request_channel, topic_creation, config, cluster_id)
        coordinators = FindCoordinatorHandler(metadata_cache, auth_helper, request_channel, config.broker_id)
        offset_fetch = OffsetFetchHandler(request_channel)
        join_group = JoinGroupHandler(request_channel)
        heartbeats = ConsumerGroupHeartbeatHandler(request_channel)
        api_versions = ApiVersionsHandler(request_channel, lambda: self.served)
        create_topics = CreateTopicsHandler(auth_helper, request_channel, controller)
        delete_topics = DeleteTopicsHandler(auth_helper, request_channel, controller, config)
        delete_records = DeleteRecordsHandler(replica_manager, metadata_cache, auth_helper, request_channel)
        init_producer_id = InitProducerIdHandler(auth_helper, request_channel, producer_id_manager)
        epochs = OffsetForLeaderEpochHandler(replica_manager, auth_helper, request_channel)
        configs = DescribeConfigsHandler(metadata_cache, dynamic_config, auth_helper, request_channel)
        alter_configs = AlterConfigsHandler(request_channel, controller, config_admin_manager)
        incremental = IncrementalAlterConfigsHandler(request_channel, controller, config_admin_manager)
        create_partitions = CreatePartitionsHandler(auth_helper, request_channel, controller)
        log_dirs = DescribeLogDirsHandler(replica_manager, auth_helper, request_channel)
        cluster = DescribeClusterHandler(metadata_cache, auth_helper, request_channel, cluster_id)
        producers = DescribeProducersHandler(replica_manager, metadata_cache, auth_helper, request_channel)
        topics = DescribeTopicPartitionsHandler(metadata_cache, auth_helper, request_channel, config)
        resources = ListConfigResourcesHandler(metadata_cache, auth_helper, request_channel)
        self._handlers: dict[ApiKeys, _Handler] = {
            ApiKeys.PRODUCE: produce.handle_produce_request,
            ApiKeys.FETCH: fetch.handle_fetch_request,
            ApiKeys.LIST_OFFSETS: list_offsets.handle_list_offset_request,
            ApiKeys.METADATA: metadata.handle_topic_metadata_request,
            ApiKeys.OFFSET_FETCH: offset_fetch.handle_offset_fetch_request,
            ApiKeys.FIND_COORDINATOR: coordinators.handle_find_coordinator_request,
            ApiKeys.JOIN_GROUP: join_group.handle_join_group_request,
            ApiKeys.API_VERSIONS: api_versions.handle_api_versions_request,
            ApiKeys.CREATE_TOPICS: create_topics.handle_create_topics_request,
            ApiKeys.DELETE_TOPICS: delete_topics.handle_delete_topics_request,
            ApiKeys.DELETE_RECORDS: delete_records.handle_delete_records_request,
            ApiKeys.INIT_PRODUCER_ID: init_producer_id.handle_init_producer_id_request,
            ApiKeys.OFFSET_FOR_LEADER_EPOCH: epochs.handle_offset_for_leader_epoch_request,
            ApiKeys.DESCRIBE_CONFIGS: configs.handle_describe_configs_request,
            ApiKeys.ALTER_CONFIGS: alter_configs.handle_alter_configs_request,
            ApiKeys.DESCRIBE_LOG_DIRS: log_dirs.handle_describe_log_dirs_request,
            ApiKeys.CREATE_PARTITIONS: create_partitions.handle_create_partitions_request,
            ApiKeys.INCREMENTAL_ALTER_CONFIGS: incremental.handle_incremental_alter_configs_request,
            ApiKeys.DESCRIBE_CLUSTER: cluster.handle_describe_cluster,
            ApiKeys.DESCRIBE_PRODUCERS: producers.handle_describe_producers_request,
            ApiKeys.CONSUMER_GROUP_HEARTBEAT: heartbeats.handle_consumer_group_heartbeat,
            ApiKeys.LIST_CONFIG_RESOURCES: resources.handle_list_config_resources,
            ApiKeys.DESCRIBE_TOPIC_PARTITIONS: topics.handle_describe_topic_partitions_request,
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
