"""CreatePartitions, key 37, versions 0–3: the controller gives topics more partitions.

What Kafka does:

- The broker forwards the request; here the controller is in the same process.
- A topic that is named twice gets INVALID_REQUEST. A topic needs the right ALTER.
- With `validate_only` the answer says what would come of it.
- Topics come into the metadata log in the order of a Java hash map, as here.

Versions: 2 has tagged fields.
"""

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.broker.topic_controller import TopicController
from minikafka.common.error_codes import Errors
from minikafka.common.java.java_hash_map import in_javas_order
from minikafka.messages.apis import CreatePartitionsRequest, CreatePartitionsResponse
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel


class CreatePartitionsHandler:
    """Has partitions added to topics that the client may alter. Kafka: `ControllerApis.handleCreatePartitions`."""

    def __init__(self, auth_helper: AuthHelper, request_channel: RequestChannel, controller: TopicController):
        self._auth_helper = auth_helper
        self._request_channel = request_channel
        self._controller = controller

    def handle_create_partitions_request(self, request: Request) -> None:
        """Give topics more partitions; a result for each. Kafka: `ControllerApis.createPartitions`."""
        body = request.body_of(CreatePartitionsRequest)
        make = CreatePartitionsResponse.CreatePartitionsTopicResult
        asked = {topic.name: topic for topic in body.topics}
        names = [topic.name for topic in body.topics]
        twice = [name for name in asked if names.count(name) > 1]
        once = [name for name in in_javas_order(asked) if name not in twice]  # so they come into the metadata log
        results = [
            make(name=name, error_code=Errors.INVALID_REQUEST, error_message="Duplicate topic name.") for name in twice
        ]
        allowed = self._auth_helper.filter_by_authorized(request, AclOperation.ALTER, ResourceType.TOPIC, once)
        results += [
            make(name=name, error_code=Errors.TOPIC_AUTHORIZATION_FAILED) for name in once if name not in allowed
        ]
        wanted = [asked[name] for name in once if name in allowed]
        decided = self._controller.create_partitions(wanted, validate_only=body.validate_only)
        results += [
            make(name=name, error_code=error.error, error_message=error.message) for name, error in decided.items()
        ]
        self._request_channel.send_response(request, CreatePartitionsResponse(results=results))
