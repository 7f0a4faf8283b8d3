"""Requests that the controller decides about: topics are made, grow and are deleted, settings change."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Protocol

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import CLUSTER_NAME, AclOperation, ResourceType
from minikafka.common.api_error import ApiError
from minikafka.common.config_resource import ConfigResource, ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.errors import InvalidRequestException, NullPointerException, TopicDeletionDisabledException
from minikafka.common.java.java_hash_map import in_javas_order
from minikafka.common.uuid import ZERO_UUID
from minikafka.messages.apis import (
    AlterConfigsRequest,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    IncrementalAlterConfigsRequest,
)
from minikafka.metadata.configuration_control_manager import AlterConfigOp, ConfigChanges
from minikafka.metadata.metadata_image import MetadataImage
from minikafka.metadata.topic_creation import CreatableTopic, CreatableTopicResult, NewPartitions, refused_topic
from minikafka.network.request import Request
from minikafka.server.broker_config import BrokerConfig

_TOPICS = ResourceType.TOPIC
_Alterable = IncrementalAlterConfigsRequest.AlterConfigsResource | AlterConfigsRequest.AlterConfigsResource


class TopicController(Protocol):
    """The controller, as far as clients change topics through it."""

    @property
    def image(self) -> MetadataImage:
        """The cluster as it has been decided so far."""

    def create_topics(
        self,
        topics: Sequence[CreatableTopic],
        *,
        describable: Container[str] | None = None,
        validate_only: bool = False,
    ) -> list[CreatableTopicResult]:
        """Make the topics, or only say what would come of it."""

    def delete_topics(self, topic_ids: Iterable[str]) -> dict[str, ApiError]:
        """Delete the topics."""

    def create_partitions(self, topics: Sequence[NewPartitions], *, validate_only: bool = False) -> dict[str, ApiError]:
        """Give topics more partitions, or only say what would come of it."""

    def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, ConfigChanges], *, validate_only: bool = False
    ) -> dict[ConfigResource, ApiError]:
        """Change settings, or only say what would come of it."""

    def legacy_alter_configs(
        self, new_configs: Mapping[ConfigResource, Mapping[str, str]], *, validate_only: bool = False
    ) -> dict[ConfigResource, ApiError]:
        """Replace all settings of resources, or only say what would come of it."""


class ControllerApis:
    """What Kafka's brokers forward to the controller is asked of it here. Kafka: `kafka.server.ControllerApis`.

    Simpler than Kafka: the controller is in the same process, and whoever may not do something is found out on the
    broker's side of it; no quotas. The order of results that are errors differs from Kafka's where more than one topic
    fails before the controller is asked: Kafka walks hash sets.
    """

    def __init__(self, controller: TopicController, auth_helper: AuthHelper, config: BrokerConfig):
        self._controller = controller
        self._auth_helper = auth_helper
        self._delete_topic_enable = config.get_boolean("delete.topic.enable")

    def create_topics(self, request: Request) -> CreateTopicsResponse:
        """Make topics; a result for each. Kafka: `ControllerApis.createTopics`."""
        body = request.body_of(CreateTopicsRequest)
        names = [topic.name for topic in body.topics]
        creatable = set(names)
        if not self._auth_helper.authorize(request, AclOperation.CREATE, ResourceType.CLUSTER):
            creatable = self._auth_helper.filter_by_authorized(request, AclOperation.CREATE, _TOPICS, names)
        describable = self._auth_helper.filter_by_authorized(
            request, AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, names
        )
        wanted = [topic for topic in body.topics if topic.name in creatable]
        response = CreateTopicsResponse()
        response.topics = self._controller.create_topics(
            wanted, describable=describable, validate_only=body.validate_only
        )
        for name in dict.fromkeys(name for name in names if name not in creatable):
            error = ApiError(Errors.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
            response.topics.append(refused_topic(name, error))
        return response

    def delete_topics(self, request: Request) -> DeleteTopicsResponse:
        """Delete topics, by id or by name; a result for each.

        Raises InvalidRequestException and TopicDeletionDisabledException where topics are never deleted.
        Kafka: `ControllerApis.deleteTopics`.
        """
        body = request.body_of(DeleteTopicsRequest)
        if not self._delete_topic_enable:
            if request.header.api_version < 3:
                raise InvalidRequestException("This version does not support topic deletion.")
            raise TopicDeletionDisabledException("Topic deletion is disabled.")
        results: list[DeleteTopicsResponse.DeletableTopicResult] = []

        def refuse(name: str | None, topic_id: str, error: ApiError) -> None:
            results.append(_deleted(name, topic_id, error))

        # 1. Either a name or an id, each once.
        names, ids = list(body.topic_names), []
        for topic in body.topics:
            if topic.name is None and topic.topic_id == ZERO_UUID:
                refuse(None, ZERO_UUID, _invalid("Neither topic name nor id were specified."))
            elif topic.name is None:
                ids.append(topic.topic_id)
            elif topic.topic_id == ZERO_UUID:
                names.append(topic.name)
            else:
                refuse(topic.name, topic.topic_id, _invalid("You may not specify both topic name and topic id."))
        for name in _twice(names):
            refuse(name, ZERO_UUID, _invalid("Duplicate topic name."))
        for topic_id in _twice(ids):
            refuse(None, topic_id, _invalid("Duplicate topic id."))
        # 2. Which topics are these?
        by_name = self._controller.image.topics.topic_name_to_id_view()
        by_id = self._controller.image.topics.topic_id_to_name_view()
        once_names = [name for name in names if names.count(name) == 1]
        once_ids = [topic_id for topic_id in ids if ids.count(topic_id) == 1]
        for topic_id in once_ids:
            if topic_id not in by_id:
                refuse(None, topic_id, ApiError.of(Errors.UNKNOWN_TOPIC_ID))
        doomed = {topic_id: by_id[topic_id] for topic_id in once_ids if topic_id in by_id}
        # 3. May they be deleted, or at least be known to exist?
        candidates = [*once_names, *doomed.values()]
        describable = deletable = set(candidates)
        if not self._auth_helper.authorize(request, AclOperation.DELETE, ResourceType.CLUSTER):
            describable = self._auth_helper.filter_by_authorized(request, AclOperation.DESCRIBE, _TOPICS, candidates)
            deletable = self._auth_helper.filter_by_authorized(request, AclOperation.DELETE, _TOPICS, candidates)
        for topic_id, name in list(doomed.items()):
            if name not in deletable:
                refuse(name if name in describable else None, topic_id, ApiError.of(Errors.TOPIC_AUTHORIZATION_FAILED))
                del doomed[topic_id]
        for name in once_names:
            if name not in describable:
                refuse(name, ZERO_UUID, ApiError.of(Errors.TOPIC_AUTHORIZATION_FAILED))
            elif name not in by_name:
                refuse(name, ZERO_UUID, ApiError.of(Errors.UNKNOWN_TOPIC_OR_PARTITION))
            elif name not in deletable:
                refuse(name, ZERO_UUID, ApiError.of(Errors.TOPIC_AUTHORIZATION_FAILED))
            elif by_name[name] in ids:  # then neither counts
                doomed.pop(by_name[name], None)
                refuse(
                    name, by_name[name], _invalid("The provided topic name maps to an ID that was already supplied.")
                )
            else:
                doomed[by_name[name]] = name
        # 4. The controller decides about the rest.
        for topic_id, error in self._controller.delete_topics(doomed).items():
            results.append(_deleted(doomed[topic_id], topic_id, error))
        response = DeleteTopicsResponse(responses=results)
        return response

    def create_partitions(self, request: Request) -> CreatePartitionsResponse:
        """Give topics more partitions; a result for each. Kafka: `ControllerApis.createPartitions`."""
        body = request.body_of(CreatePartitionsRequest)
        make = CreatePartitionsResponse.CreatePartitionsTopicResult
        asked = {topic.name: topic for topic in body.topics}
        twice = _twice([topic.name for topic in body.topics])
        once = [name for name in in_javas_order(asked) if name not in twice]  # so they come into the metadata log
        results = [
            make(name=name, error_code=Errors.INVALID_REQUEST, error_message="Duplicate topic name.") for name in twice
        ]
        allowed = self._auth_helper.filter_by_authorized(request, AclOperation.ALTER, _TOPICS, once)
        results += [
            make(name=name, error_code=Errors.TOPIC_AUTHORIZATION_FAILED) for name in once if name not in allowed
        ]
        wanted = [_new_partitions(asked[name]) for name in once if name in allowed]
        decided = self._controller.create_partitions(wanted, validate_only=body.validate_only)
        results += [
            make(name=name, error_code=error.error, error_message=error.message) for name, error in decided.items()
        ]
        return CreatePartitionsResponse(results=results)

    def incremental_alter_configs(
        self,
        request: Request,
        resources: Sequence[IncrementalAlterConfigsRequest.AlterConfigsResource],
        validate_only: bool,
    ) -> dict[tuple[int, str], ApiError]:
        """Change settings of `resources`, each of which occurs once; what came of each, by kind and name.

        An operation that Kafka does not know fails all of them, when the controller meets it.
        Kafka: `ControllerApis.handleIncrementalAlterConfigs`.
        """
        changes: dict[ConfigResource, ConfigChanges] = {}
        for resource in resources:
            settings = {each.name: each for each in resource.configs}
            changes[_config_resource(resource)] = {
                name: (AlterConfigOp.for_id(settings[name].config_operation), settings[name].value or "")
                for name in in_javas_order(settings)  # so they come into the metadata log
            }
        errors = self._alter_errors(request, changes)
        allowed = {resource: changes[resource] for resource in changes if resource not in errors}
        try:
            errors.update(self._controller.incremental_alter_configs(allowed, validate_only=validate_only))
        except NullPointerException:
            return {_key(resource): ApiError(Errors.UNKNOWN_SERVER_ERROR) for resource in resources}
        return {_key(resource): errors[_config_resource(resource)] for resource in resources}

    def legacy_alter_configs(
        self, request: Request, resources: Sequence[AlterConfigsRequest.AlterConfigsResource], validate_only: bool
    ) -> dict[tuple[int, str], ApiError]:
        """Replace all settings of `resources`, each of which occurs once; what came of each, by kind and name.

        Kafka: `ControllerApis.handleLegacyAlterConfigs`.
        """
        new_configs = {}
        for resource in resources:
            settings = {each.name: each.value or "" for each in resource.configs}
            new_configs[_config_resource(resource)] = {name: settings[name] for name in in_javas_order(settings)}
        errors = self._alter_errors(request, new_configs)
        allowed = {resource: new_configs[resource] for resource in new_configs if resource not in errors}
        errors.update(self._controller.legacy_alter_configs(allowed, validate_only=validate_only))
        return {_key(resource): errors[_config_resource(resource)] for resource in resources}

    def _alter_errors(self, request: Request, resources: Iterable[ConfigResource]) -> dict[ConfigResource, ApiError]:
        """Why settings of some of `resources` may not be altered. Kafka: `ControllerApis.authorizeAlterResource`."""
        errors = {}
        for resource in resources:
            kind, error, name = ResourceType.CLUSTER, Errors.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_NAME
            if resource.type is ConfigResourceType.TOPIC:
                kind, error, name = ResourceType.TOPIC, Errors.TOPIC_AUTHORIZATION_FAILED, resource.name
            elif resource.type is ConfigResourceType.GROUP:
                kind, error, name = ResourceType.GROUP, Errors.GROUP_AUTHORIZATION_FAILED, resource.name
            if not self._auth_helper.authorize(request, AclOperation.ALTER_CONFIGS, kind, name):
                errors[resource] = ApiError.of(error)
        return errors


def _key(resource: _Alterable) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def _config_resource(resource: _Alterable) -> ConfigResource:
    return ConfigResource(ConfigResourceType.for_id(resource.resource_type), resource.resource_name)


def _new_partitions(topic: CreatePartitionsRequest.CreatePartitionsTopic) -> NewPartitions:
    assignments = None if topic.assignments is None else [each.broker_ids for each in topic.assignments]
    return NewPartitions(topic.name, topic.count, assignments)


def _invalid(message: str) -> ApiError:
    return ApiError(Errors.INVALID_REQUEST, message)


def _twice(values: list[str]) -> list[str]:
    return [value for value in dict.fromkeys(values) if values.count(value) > 1]


def _deleted(name: str | None, topic_id: str, error: ApiError) -> DeleteTopicsResponse.DeletableTopicResult:
    return DeleteTopicsResponse.DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=error.error, error_message=error.message
    )
