"""Changes settings for clients: what a broker checks itself, before the controller decides about the rest."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.broker.controller_apis import ControllerApis
from minikafka.broker.runtime_logger_manager import RuntimeLoggerManager
from minikafka.common.api_error import NO_ERROR, ApiError
from minikafka.common.config_def import Type, split_list
from minikafka.common.config_resource import ConfigResource, ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    ConfigException,
    IllegalArgumentException,
    InvalidConfigurationException,
    InvalidRequestException,
    NumberFormatException,
)
from minikafka.common.java.java_numbers import parse_int
from minikafka.common.kafka_settings import kafka_settings
from minikafka.messages.apis import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from minikafka.metadata.configuration_control_manager import AlterConfigOp
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.server.dynamic_broker_config import DynamicBrokerConfig, from_persistent_props

logger = logging.getLogger(__name__)

IncrementalResource = IncrementalAlterConfigsRequest.AlterConfigsResource
LegacyResource = AlterConfigsRequest.AlterConfigsResource
_Resource: TypeAlias = IncrementalResource | LegacyResource
_Response = TypeVar("_Response")
_FORWARDED = (ConfigResourceType.TOPIC, ConfigResourceType.CLIENT_METRICS, ConfigResourceType.GROUP)


class ConfigAdminManager:
    """Serves IncrementalAlterConfigs and AlterConfigs.

    1. Preprocessing, by the broker: what is malformed is refused, settings of brokers are checked against this broker's
       own, and levels of loggers are changed.
    2. The controller decides about the rest, and writes it to the metadata log.
    3. The answers of both come in the order of the request.

    All settings of one resource are changed, or none. Those of groups and of metrics of clients are kept and told, and
    have no effect: there are no groups, and no client is asked for its metrics. A request AlterConfigs that names a
    resource twice is answered; Kafka fails over its answer, and sends none.

    Kafka: `kafka.server.ConfigAdminManager`, `KafkaApis.handleIncrementalAlterConfigsRequest`.
    """

    def __init__(
        self,
        metadata_cache: MetadataCache,
        dynamic_config: DynamicBrokerConfig,
        auth_helper: AuthHelper,
        request_channel: RequestChannel,
        controller_apis: ControllerApis,
    ):
        self._metadata_cache = metadata_cache
        self._dynamic_config = dynamic_config
        self._auth_helper = auth_helper
        self._request_channel = request_channel
        self._controller_apis = controller_apis
        self._node_id = dynamic_config.broker_id
        self._runtime_logger_manager = RuntimeLoggerManager(self._node_id)

    def handle_incremental_alter_configs_request(self, request: Request) -> None:
        """Change single settings. Kafka: `KafkaApis.handleIncrementalAlterConfigsRequest`."""
        body = request.body_of(IncrementalAlterConfigsRequest)
        refused = _more_than_once(body.resources)
        for resource in body.resources:
            if _key(resource) not in refused:
                error = self._preprocess_incremental(request, resource, validate_only=body.validate_only)
                if error is not None:
                    refused[_key(resource)] = error
        remaining = [resource for resource in body.resources if _key(resource) not in refused]
        decided = self._controller_apis.incremental_alter_configs(request, remaining, body.validate_only)
        make = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
        responses = _responses(make, body.resources, {**decided, **refused})
        self._request_channel.send_response(request, IncrementalAlterConfigsResponse(responses=responses))

    def handle_alter_configs_request(self, request: Request) -> None:
        """Replace all settings of a resource. Kafka: `KafkaApis.handleAlterConfigsRequest`."""
        body = request.body_of(AlterConfigsRequest)
        refused = _more_than_once(body.resources)
        for resource in body.resources:
            if _key(resource) not in refused:
                error = self._preprocess_legacy(resource)
                if error is not None:
                    refused[_key(resource)] = error
        remaining = [resource for resource in body.resources if _key(resource) not in refused]
        decided = self._controller_apis.legacy_alter_configs(request, remaining, body.validate_only)
        make = AlterConfigsResponse.AlterConfigsResourceResponse
        responses = _responses(make, body.resources, {**decided, **refused})
        self._request_channel.send_response(request, AlterConfigsResponse(responses=responses))

    # What a broker checks itself

    def _preprocess_incremental(
        self, request: Request, resource: IncrementalResource, *, validate_only: bool
    ) -> ApiError | None:
        """What came of it; None for what the controller decides. Kafka: `ConfigAdminManager.preprocess`."""
        kind = ConfigResourceType.for_id(resource.resource_type)
        try:
            with_value = [each for each in resource.configs if each.config_operation != AlterConfigOp.DELETE]
            _check_settings(resource, [each.name for each in with_value if each.value is None])
            if kind is ConfigResourceType.BROKER_LOGGER:
                is_allowed = self._auth_helper.authorize(request, AclOperation.ALTER_CONFIGS, ResourceType.CLUSTER)
                self._runtime_logger_manager.apply_changes_for_resource(is_allowed, validate_only, resource)
                return NO_ERROR
            if kind is ConfigResourceType.BROKER:
                self._check_broker_name(resource.resource_name)
                stored = self._metadata_cache.config(ConfigResource(kind, resource.resource_name))
                props = from_persistent_props(stored, per_broker_config=resource.resource_name != "")
                _prepare_incremental_configs(resource, props)
                self._validate_broker_config_change(props, resource.resource_name)
            elif kind not in _FORWARDED:
                raise InvalidRequestException(f"Unknown resource type {resource.resource_type}")
        except Exception as error:
            logger.info("Error preprocessing incrementalAlterConfigs request on %s", resource, exc_info=True)
            return ApiError.from_exception(error)
        return None

    def _preprocess_legacy(self, resource: LegacyResource) -> ApiError | None:
        """What came of it; None for what the controller decides. Kafka: `ConfigAdminManager.preprocess`."""
        kind = ConfigResourceType.for_id(resource.resource_type)
        try:
            _check_settings(resource, [each.name for each in resource.configs if each.value is None])
            if kind is ConfigResourceType.BROKER:
                self._check_broker_name(resource.resource_name)
                props = {each.name: each.value for each in resource.configs if each.value is not None}
                self._validate_broker_config_change(props, resource.resource_name)
            elif kind not in _FORWARDED:
                raise InvalidRequestException(f"Unknown resource type {resource.resource_type}")
        except Exception as error:
            logger.info("Error preprocessing alterConfigs request on %s", resource, exc_info=True)
            return ApiError.from_exception(error)
        return None

    def _check_broker_name(self, name: str) -> None:
        """Kafka: `ConfigAdminManager.validateResourceNameIsCurrentNodeId`."""
        if not name:
            return
        try:
            node_id = parse_int(name)
        except NumberFormatException:
            raise InvalidRequestException(f"Node id must be an integer, but it is: {name}") from None
        if node_id != self._node_id:
            raise InvalidRequestException(f"Unexpected broker id, expected {self._node_id}, but received {name}")

    def _validate_broker_config_change(self, props: Mapping[str, str], resource_name: str) -> None:
        """Kafka: `ConfigAdminManager.validateBrokerConfigChange`."""
        try:
            self._dynamic_config.validate(props, per_broker_config=resource_name != "")
        except (ConfigException, IllegalArgumentException) as error:
            raise InvalidRequestException(str(error)) from error


def _key(resource: _Resource) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def _more_than_once(resources: list[IncrementalResource] | list[LegacyResource]) -> dict[tuple[int, str], ApiError]:
    keys = [_key(resource) for resource in resources]
    error = ApiError(Errors.INVALID_REQUEST, "Each resource must appear at most once.")
    return {key: error for key in keys if keys.count(key) > 1}


def _responses(
    make: Callable[..., _Response], resources: Iterable[_Resource], errors: Mapping[tuple[int, str], ApiError]
) -> list[_Response]:
    """What came of each resource, in the order of the request."""
    return [
        make(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            error_code=errors[_key(resource)].error,
            error_message=errors[_key(resource)].message,
        )
        for resource in resources
    ]


def _check_settings(resource: _Resource, without_value: list[str]) -> None:
    names = [each.name for each in resource.configs]
    if len(set(names)) < len(names):
        raise InvalidRequestException("Error due to duplicate config keys")
    if without_value:
        raise InvalidRequestException(f"Null value not supported for : {', '.join(without_value)}")


def _prepare_incremental_configs(resource: IncrementalResource, props: dict[str, str]) -> None:
    """Do to `props`, the present settings of a broker, what is asked for.

    Raises InvalidRequestException and InvalidConfigurationException.
    Kafka: `ConfigAdminManager.prepareIncrementalConfigs`.
    """
    operations = set(AlterConfigOp)
    for each in resource.configs:
        if each.config_operation not in operations:
            raise InvalidRequestException(f"Unknown operations type {each.config_operation}")
    for each in resource.configs:
        operation, value = AlterConfigOp(each.config_operation), each.value or ""
        if operation is AlterConfigOp.SET:
            props[each.name] = value
        elif operation is AlterConfigOp.DELETE:
            props.pop(each.name, None)
        else:
            old, operands = _list_value(each.name, operation, props), split_list(value)
            if operation is AlterConfigOp.APPEND:
                new = [*old, *(operand for operand in operands if operand not in old)]
            else:
                new = list(old)
                for operand in operands:
                    if operand in new:
                        new.remove(operand)
            props[each.name] = ",".join(new)


def _list_value(name: str, operation: AlterConfigOp, props: Mapping[str, str]) -> list[str]:
    """The elements of a setting of type LIST before an operation on them."""
    setting = kafka_settings("broker").get(name)
    if setting is None:
        raise InvalidConfigurationException(f"Unknown config name: {name}")
    if setting.type is not Type.LIST:
        raise InvalidConfigurationException(
            f"Config value {operation.name.lower()} is not allowed for config key: {name}"
        )
    text = props.get(name, setting.default or "")
    return split_list(text) if text else []
