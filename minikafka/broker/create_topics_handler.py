"""CreateTopics, key 19, versions 2–7: the controller makes topics.

What Kafka does:

- The broker forwards the request; here the controller is in the same process.
- Who may create in the cluster creates any topic; others those for which they have the right CREATE. The rest gets
  TOPIC_AUTHORIZATION_FAILED.
- Settings and numbers of a new topic are told to those who may describe its settings.
- With `validate_only` the answer says what would come of it.

Versions: 4 lets the cluster choose how many partitions and replicas, 5 has tagged fields and tells the new topic's
settings, 7 tells its id.
"""

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.broker.topic_controller import TopicController
from minikafka.common.api_error import ApiError
from minikafka.common.error_codes import Errors
from minikafka.messages.apis import CreateTopicsRequest, CreateTopicsResponse
from minikafka.metadata.topic_creation import refused_topic
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel


class CreateTopicsHandler:
    """Has topics made that the client may make. Kafka: `ControllerApis.handleCreateTopics`."""

    def __init__(self, auth_helper: AuthHelper, request_channel: RequestChannel, controller: TopicController):
        self._auth_helper = auth_helper
        self._request_channel = request_channel
        self._controller = controller

    def handle_create_topics_request(self, request: Request) -> None:
        """Make topics; a result for each. Kafka: `ControllerApis.createTopics`."""
        body = request.body_of(CreateTopicsRequest)
        names = [topic.name for topic in body.topics]
        creatable = set(names)
        if not self._auth_helper.authorize(request, AclOperation.CREATE, ResourceType.CLUSTER):
            creatable = self._auth_helper.filter_by_authorized(request, AclOperation.CREATE, ResourceType.TOPIC, names)
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
        self._request_channel.send_response(request, response)
