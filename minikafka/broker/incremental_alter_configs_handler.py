"""IncrementalAlterConfigs, key 44, versions 0–1: single settings of topics, brokers and loggers change.

What Kafka does:

- A resource that is named twice gets INVALID_REQUEST, each time.
- The broker refuses what is malformed, checks settings of brokers against its own, and changes levels of loggers.
- The controller decides about the rest, and writes it to the metadata log: all settings of one resource, or none.
- Operations: 0 sets, 1 deletes, 2 appends to a list, 3 takes out of a list. An unknown one fails the whole request.
- The answers come in the order of the request.

Versions: 1 has tagged fields.
"""

from collections.abc import Sequence

from minikafka.broker.config_admin_manager import (
    ConfigAdminManager,
    IncrementalResource,
    config_resource,
    key_of,
    more_than_once,
    responses_of,
)
from minikafka.broker.topic_controller import TopicController
from minikafka.common.api_error import ApiError
from minikafka.common.config_resource import ConfigResource
from minikafka.common.error_codes import Errors
from minikafka.common.errors import NullPointerException
from minikafka.common.java.java_hash_map import in_javas_order
from minikafka.messages.apis import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
from minikafka.metadata.configuration_control_manager import AlterConfigOp, ConfigChanges
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel


class IncrementalAlterConfigsHandler:
    """Has single settings changed. Kafka: `KafkaApis.handleIncrementalAlterConfigsRequest`."""

    def __init__(
        self, request_channel: RequestChannel, controller: TopicController, config_admin_manager: ConfigAdminManager
    ):
        self._request_channel = request_channel
        self._controller = controller
        self._config_admin_manager = config_admin_manager

    def handle_incremental_alter_configs_request(self, request: Request) -> None:
        """Change single settings. Kafka: `KafkaApis.handleIncrementalAlterConfigsRequest`."""
        body = request.body_of(IncrementalAlterConfigsRequest)
        refused = more_than_once(body.resources)
        for resource in body.resources:
            if key_of(resource) not in refused:
                error = self._config_admin_manager.preprocess_incremental(
                    request, resource, validate_only=body.validate_only
                )
                if error is not None:
                    refused[key_of(resource)] = error
        remaining = [resource for resource in body.resources if key_of(resource) not in refused]
        decided = self._decide(request, remaining, body.validate_only)
        make = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
        responses = responses_of(make, body.resources, {**decided, **refused})
        self._request_channel.send_response(request, IncrementalAlterConfigsResponse(responses=responses))

    def _decide(
        self, request: Request, resources: Sequence[IncrementalResource], validate_only: bool
    ) -> dict[tuple[int, str], ApiError]:
        """Change settings of `resources`, each of which occurs once; what came of each, by kind and name.

        An operation that Kafka does not know fails all of them, when the controller meets it.
        Kafka: `ControllerApis.handleIncrementalAlterConfigs`.
        """
        changes: dict[ConfigResource, ConfigChanges] = {}
        for resource in resources:
            settings = {each.name: each for each in resource.configs}
            changes[config_resource(resource)] = {
                name: (AlterConfigOp.for_id(settings[name].config_operation), settings[name].value or "")
                for name in in_javas_order(settings)  # so they come into the metadata log
            }
        errors = self._config_admin_manager.alter_errors(request, changes)
        allowed = {resource: changes[resource] for resource in changes if resource not in errors}
        try:
            errors.update(self._controller.incremental_alter_configs(allowed, validate_only=validate_only))
        except NullPointerException:
            return {key_of(resource): ApiError(Errors.UNKNOWN_SERVER_ERROR) for resource in resources}
        return {key_of(resource): errors[config_resource(resource)] for resource in resources}
