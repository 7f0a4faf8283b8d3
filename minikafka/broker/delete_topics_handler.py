"""DeleteTopics, key 20, versions 1–6: the controller deletes topics, by name or by id.

What Kafka does:

- With `delete.topic.enable=false` the request fails: TOPIC_DELETION_DISABLED, before version 3 INVALID_REQUEST.
- A topic is named once, by its name or by its id. What is named twice, in both ways, or in none is an INVALID_REQUEST.
- A topic needs the right DELETE. Who may not even describe it is not told its name, nor whether it exists.

Versions: 4 has tagged fields, 5 tells the error in words, 6 has ids.
"""

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.broker.topic_controller import TopicController
from minikafka.common.api_error import ApiError
from minikafka.common.error_codes import Errors
from minikafka.common.errors import InvalidRequestException, TopicDeletionDisabledException
from minikafka.common.uuid import ZERO_UUID
from minikafka.messages.apis import DeleteTopicsRequest, DeleteTopicsResponse
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.server.broker_config import BrokerConfig

_TOPICS = ResourceType.TOPIC


class DeleteTopicsHandler:
    """Has topics deleted that the client may delete. Kafka: `ControllerApis.handleDeleteTopics`."""

    def __init__(
        self,
        auth_helper: AuthHelper,
        request_channel: RequestChannel,
        controller: TopicController,
        config: BrokerConfig,
    ):
        self._auth_helper = auth_helper
        self._request_channel = request_channel
        self._controller = controller
        self._delete_topic_enable = config.get_boolean("delete.topic.enable")

    def handle_delete_topics_request(self, request: Request) -> None:
        """Delete topics, by id or by name; a result for each.

        Raises InvalidRequestException and TopicDeletionDisabledException where topics are never deleted.
        Kafka: `ControllerApis.handleDeleteTopics`, `ControllerApis.deleteTopics`.
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
        self._request_channel.send_response(request, DeleteTopicsResponse(responses=results))


def _invalid(message: str) -> ApiError:
    return ApiError(Errors.INVALID_REQUEST, message)


def _twice(values: list[str]) -> list[str]:
    return [value for value in dict.fromkeys(values) if values.count(value) > 1]


def _deleted(name: str | None, topic_id: str, error: ApiError) -> DeleteTopicsResponse.DeletableTopicResult:
    return DeleteTopicsResponse.DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=error.error, error_message=error.message
    )
