"""What a broker checks itself when settings are to change, before the controller decides about the rest."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import CLUSTER_NAME, AclOperation, ResourceType
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
    IncrementalAlterConfigsRequest,
)
from minikafka.metadata.configuration_control_manager import AlterConfigOp
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.request import Request
from minikafka.server.dynamic_broker_config import DynamicBrokerConfig, from_persistent_props

logger = logging.getLogger(__name__)

IncrementalResource = IncrementalAlterConfigsRequest.AlterConfigsResource
LegacyResource = AlterConfigsRequest.AlterConfigsResource
_Resource: TypeAlias = IncrementalResource | LegacyResource
_Response = TypeVar("_Response")
_FORWARDED = (ConfigResourceType.TOPIC, ConfigResourceType.CLIENT_METRICS, ConfigResourceType.GROUP)


class ConfigAdminManager:
    """Refuses what is malformed, checks settings of brokers against this broker's own, changes levels of loggers.

    The handlers of AlterConfigs and IncrementalAlterConfigs ask it, and then the controller. All settings of one
    resource are changed, or none. Those of groups and of metrics of clients are kept and told, and have no effect:
    there are no groups, and no client is asked for its metrics. Kafka: `kafka.server.ConfigAdminManager`.
    """

    def __init__(self, metadata_cache: MetadataCache, dynamic_config: DynamicBrokerConfig, auth_helper: AuthHelper):
        self._metadata_cache = metadata_cache
        self._dynamic_config = dynamic_config
        self._auth_helper = auth_helper
        self._node_id = dynamic_config.broker_id
        self._runtime_logger_manager = RuntimeLoggerManager(self._node_id)

    def preprocess_incremental(
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

    def preprocess_legacy(self, resource: LegacyResource) -> ApiError | None:
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

    def alter_errors(self, request: Request, resources: Iterable[ConfigResource]) -> dict[ConfigResource, ApiError]:
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


def key_of(resource: _Resource) -> tuple[int, str]:
    """The kind and the name of a resource, by which a request names it."""
    return resource.resource_type, resource.resource_name


def config_resource(resource: _Resource) -> ConfigResource:
    """The resource that a request names, as the metadata log knows it."""
    return ConfigResource(ConfigResourceType.for_id(resource.resource_type), resource.resource_name)


def more_than_once(resources: list[IncrementalResource] | list[LegacyResource]) -> dict[tuple[int, str], ApiError]:
    """The errors of those resources that a request names more than once."""
    keys = [key_of(resource) for resource in resources]
    error = ApiError(Errors.INVALID_REQUEST, "Each resource must appear at most once.")
    return {key: error for key in keys if keys.count(key) > 1}


def responses_of(
    make: Callable[..., _Response], resources: Iterable[_Resource], errors: Mapping[tuple[int, str], ApiError]
) -> list[_Response]:
    """What came of each resource, in the order of the request."""
    return [
        make(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            error_code=errors[key_of(resource)].error,
            error_message=errors[key_of(resource)].message,
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
