"""Metadata, key 3, versions 0–13: which topics and brokers there are, and who leads.

What Kafka does:

- No list of topics asks for all of them; so does an empty one in version 0.
- A topic needs the right DESCRIBE, else TOPIC_AUTHORIZATION_FAILED. Of all topics only those are told.
- A topic that does not exist is made if request and settings allow it, and whoever asks may create it; the answer is an
  error until it is there.
- Any alive broker is named as the controller, for it forwards requests.

Versions: 1 has the controller and racks, 2 the cluster's id, 4 says whether topics may be made, 5 has offline replicas,
7 leader epochs, 8 what the client may do, 9 tagged fields, 10 topic ids in answers, 12 in requests, 13 an error of the
whole answer.
"""

from collections.abc import Iterable, Sequence

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.broker.auto_topic_creation_manager import AutoTopicCreationManager
from minikafka.common import topic as topic_names
from minikafka.common.error_codes import Errors
from minikafka.common.errors import InvalidRequestException, InvalidTopicException, NullPointerException
from minikafka.common.uuid import ZERO_UUID
from minikafka.messages.apis import MetadataRequest, MetadataResponse
from minikafka.metadata.metadata_cache import MetadataCache, TopicMetadata
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.server.broker_config import BrokerConfig

FIRST_VERSION_WITH_NULL_NAMES = 12
FIRST_VERSION_WITH_TOPIC_IDS = 10
NO_CONTROLLER_ID = -1

MetadataResponseTopic = MetadataResponse.MetadataResponseTopic
MetadataResponsePartition = MetadataResponseTopic.MetadataResponsePartition


class MetadataHandler:
    """Answers metadata requests out of the broker's cache, which may be late.

    Kafka names any alive broker as the controller, for all forward requests; here it is the first one. Simpler than
    Kafka: no quotas. Kafka: `KafkaApis.handleTopicMetadataRequest`.
    """

    def __init__(
        self,
        metadata_cache: MetadataCache,
        auth_helper: AuthHelper,
        request_channel: RequestChannel,
        auto_topic_creation_manager: AutoTopicCreationManager,
        config: BrokerConfig,
        cluster_id: str,
    ):
        self._metadata_cache = metadata_cache
        self._auth_helper = auth_helper
        self._request_channel = request_channel
        self._auto_topic_creation_manager = auto_topic_creation_manager
        self._auto_create = config.get_boolean("auto.create.topics.enable")
        self._cluster_id = cluster_id

    def handle_topic_metadata_request(self, request: Request) -> None:
        """Answer with the topics that were asked for, or all, and all alive brokers.

        Topics that do not exist are made if the request and the broker's settings allow it. Raises
        InvalidRequestException. Kafka: `KafkaApis.handleTopicMetadataRequest`.
        """
        body, version = request.body_of(MetadataRequest), request.header.api_version
        asked = body.topics or []
        all_topics = body.topics is None or (not body.topics and version == 0)
        # 1. Which topics are meant, by id or by name?
        if not all_topics:
            _check_names(asked, version)
        topic_ids = [] if all_topics or version < FIRST_VERSION_WITH_TOPIC_IDS else _different_ids(asked)
        unknown_ids = [id for id in topic_ids if self._metadata_cache.get_topic_name(id) is None]
        topics = self._meant(asked, topic_ids, all_topics=all_topics)
        # 2. Which of them may be described? The existence of the others is not told.
        describable = self._auth_helper.filter_by_authorized(request, AclOperation.DESCRIBE, ResourceType.TOPIC, topics)
        authorized = [name for name in topics if name in describable]
        undescribable = [] if all_topics else [name for name in topics if name not in describable]
        # 3. Which of them may be made, if they are not there?
        uncreatable: list[str] = []
        may_create = body.allow_auto_topic_creation and self._auto_create
        if may_create and authorized:
            uncreatable = self._uncreatable(request, authorized)
            authorized = [name for name in authorized if name not in uncreatable]
        found = self._topic_metadata(request, authorized, create=may_create and not all_topics, all_topics=all_topics)
        # 4. What may be done to the cluster and the topics, if that was asked.
        response = MetadataResponse()
        if 8 <= version <= 10 and body.include_cluster_authorized_operations:
            response.cluster_authorized_operations = (
                self._auth_helper.authorized_operations(request, ResourceType.CLUSTER)
                if self._auth_helper.authorize(request, AclOperation.DESCRIBE, ResourceType.CLUSTER)
                else 0
            )
        if version >= 8 and body.include_topic_authorized_operations:
            for topic in found:
                assert topic.name is not None
                topic.topic_authorized_operations = self._auth_helper.authorized_operations(
                    request, ResourceType.TOPIC, topic.name
                )
        # 5. All together, and the brokers.
        response.topics = [
            *(_failed(Errors.UNKNOWN_TOPIC_ID, None, id) for id in unknown_ids),
            *found,
            *(_failed(Errors.TOPIC_AUTHORIZATION_FAILED, name) for name in uncreatable),
            *(
                _failed(Errors.TOPIC_AUTHORIZATION_FAILED, None, self._metadata_cache.get_topic_id(name))
                if topic_ids
                else _failed(Errors.TOPIC_AUTHORIZATION_FAILED, name)
                for name in undescribable
            ),
        ]
        nodes = self._metadata_cache.get_alive_broker_nodes(request.listener_name)
        make_broker = MetadataResponse.MetadataResponseBroker
        response.brokers = [make_broker(node_id=n.id, host=n.host, port=n.port, rack=n.rack) for n in nodes]
        response.cluster_id = self._cluster_id
        response.controller_id = nodes[0].id if nodes else NO_CONTROLLER_ID
        self._request_channel.send_response(request, response)

    def _meant(
        self, asked: Sequence[MetadataRequest.MetadataRequestTopic], topic_ids: Sequence[str], *, all_topics: bool
    ) -> list[str]:
        """The names of the topics, each once: all, or in the order in which they are asked for."""
        if all_topics:
            return sorted(self._metadata_cache.get_all_topics())
        if topic_ids:
            names = [self._metadata_cache.get_topic_name(id) for id in topic_ids]
            return [name for name in names if name is not None]
        named = [topic.name for topic in asked if topic.name is not None]
        if len(named) < len(asked):
            raise NullPointerException("a topic with neither name nor id")
        return list(dict.fromkeys(named))

    def _uncreatable(self, request: Request, names: Iterable[str]) -> list[str]:
        """Those of `names` that do not exist and may not be made by whoever asks."""
        missing = [name for name in names if not self._metadata_cache.contains(name)]
        if not missing or self._auth_helper.authorize(request, AclOperation.CREATE, ResourceType.CLUSTER):
            return []
        creatable = self._auth_helper.filter_by_authorized(request, AclOperation.CREATE, ResourceType.TOPIC, missing)
        return [name for name in missing if name not in creatable]

    def _topic_metadata(
        self, request: Request, names: Sequence[str], *, create: bool, all_topics: bool
    ) -> list[MetadataResponseTopic]:
        """What is known of the topics; behind them those that do not exist, which are made if `create`.

        Kafka: `KafkaApis.getTopicMetadata`.
        """
        version = request.header.api_version
        known = self._metadata_cache.get_topic_metadata(
            names,
            request.listener_name,
            error_unavailable_endpoints=version == 0,
            error_unavailable_listeners=version >= 6,
        )
        found = [_described(topic) for topic in known]
        if all_topics or len(found) == len(names):
            return found
        there = {topic.name for topic in known}
        missing = [name for name in names if name not in there]
        if create:
            errors = self._auto_topic_creation_manager.create_topics(missing)
            return [*found, *(_failed(error, name) for name, error in errors.items())]
        return [
            *found,
            *(_failed(_why_missing(name), name, self._metadata_cache.get_topic_id(name)) for name in missing),
        ]


def _check_names(topics: Sequence[MetadataRequest.MetadataRequestTopic], version: int) -> None:
    for topic in topics:
        if topic.name is None and version < FIRST_VERSION_WITH_NULL_NAMES:
            raise InvalidRequestException(f"Topic name can not be null for version {version}")
        if topic.topic_id != ZERO_UUID and version < FIRST_VERSION_WITH_NULL_NAMES:
            raise InvalidRequestException(f"Topic IDs are not supported in requests for version {version}")


def _different_ids(topics: Sequence[MetadataRequest.MetadataRequestTopic]) -> list[str]:
    return [id for id in dict.fromkeys(topic.topic_id for topic in topics) if id != ZERO_UUID]


def _why_missing(name: str) -> Errors:
    try:
        topic_names.validate(name)
    except InvalidTopicException:
        return Errors.INVALID_TOPIC_EXCEPTION
    return Errors.UNKNOWN_TOPIC_OR_PARTITION


def _failed(error: Errors, name: str | None, topic_id: str = ZERO_UUID) -> MetadataResponseTopic:
    """Kafka: `KafkaApis.metadataResponseTopic`."""
    is_internal = name is not None and topic_names.is_internal(name)
    return MetadataResponseTopic(error_code=error, name=name, topic_id=topic_id, is_internal=is_internal)


def _described(topic: TopicMetadata) -> MetadataResponseTopic:
    partitions = [
        MetadataResponsePartition(
            error_code=partition.error,
            partition_index=partition.partition_index,
            leader_id=partition.leader_id,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replica_nodes),
            isr_nodes=list(partition.isr_nodes),
            offline_replicas=list(partition.offline_replicas),
        )
        for partition in topic.partitions
    ]
    return MetadataResponseTopic(
        name=topic.name, topic_id=topic.topic_id, is_internal=topic.is_internal, partitions=partitions
    )
