"""AlterConfigs, key 33, versions 0–2: all settings of topics and brokers are replaced. Deprecated in Kafka.

What Kafka does:

- A resource that is named twice gets INVALID_REQUEST. Kafka fails over this answer, and sends none; here it is sent.
- The broker refuses what is malformed, and checks settings of brokers against its own.
- The controller decides about the rest, and writes it to the metadata log: all settings of one resource, or none.
- What a resource has of its own, and the request does not name, has Kafka's default again.

Versions: 2 has tagged fields.
"""

from collections.abc import Sequence

from minikafka.broker.config_admin_manager import (
    ConfigAdminManager,
    LegacyResource,
    config_resource,
    key_of,
    more_than_once,
    responses_of,
)
from minikafka.broker.topic_controller import TopicController
from minikafka.common.api_error import ApiError
from minikafka.common.java.java_hash_map import in_javas_order
from minikafka.messages.apis import AlterConfigsRequest, AlterConfigsResponse
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel


class AlterConfigsHandler:
    """Has all settings of resources replaced. Kafka: `KafkaApis.handleAlterConfigsRequest`."""

    def __init__(
        self, request_channel: RequestChannel, controller: TopicController, config_admin_manager: ConfigAdminManager
    ):
        self._request_channel = request_channel
        self._controller = controller
        self._config_admin_manager = config_admin_manager

    def handle_alter_configs_request(self, request: Request) -> None:
        """Replace all settings of a resource. Kafka: `KafkaApis.handleAlterConfigsRequest`."""
        body = request.body_of(AlterConfigsRequest)
        refused = more_than_once(body.resources)
        for resource in body.resources:
            if key_of(resource) not in refused:
                error = self._config_admin_manager.preprocess_legacy(resource)
                if error is not None:
                    refused[key_of(resource)] = error
        remaining = [resource for resource in body.resources if key_of(resource) not in refused]
        decided = self._decide(request, remaining, body.validate_only)
        make = AlterConfigsResponse.AlterConfigsResourceResponse
        responses = responses_of(make, body.resources, {**decided, **refused})
        self._request_channel.send_response(request, AlterConfigsResponse(responses=responses))

    def _decide(
        self, request: Request, resources: Sequence[LegacyResource], validate_only: bool
    ) -> dict[tuple[int, str], ApiError]:
        """Replace all settings of `resources`, each of which occurs once; what came of each, by kind and name.

        Kafka: `ControllerApis.handleLegacyAlterConfigs`.
        """
        new_configs = {}
        for resource in resources:
            settings = {each.name: each.value or "" for each in resource.configs}
            new_configs[config_resource(resource)] = {name: settings[name] for name in in_javas_order(settings)}
        errors = self._config_admin_manager.alter_errors(request, new_configs)
        allowed = {resource: new_configs[resource] for resource in new_configs if resource not in errors}
        errors.update(self._controller.legacy_alter_configs(allowed, validate_only=validate_only))
        return {key_of(resource): errors[config_resource(resource)] for resource in resources}
