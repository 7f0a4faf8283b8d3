"""The loggers of the broker's process and their levels, which clients may read and change while it runs."""

import logging

from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    ClusterAuthorizationException,
    InvalidConfigurationException,
    InvalidRequestException,
    NumberFormatException,
)
from minikafka.common.java.java_numbers import parse_int
from minikafka.messages.apis import IncrementalAlterConfigsRequest
from minikafka.metadata.configuration_control_manager import AlterConfigOp

logger = logging.getLogger(__name__)

ROOT_LOGGER = "root"
_LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_NAMES = {level: name for name, level in _LEVELS.items()}


def loggers() -> dict[str, str]:
    """Python's loggers and the levels that count for them, by Kafka's names. Kafka: `LoggingController.loggers`."""
    known = [name for name, each in logging.root.manager.loggerDict.items() if isinstance(each, logging.Logger)]
    return {ROOT_LOGGER: _level(logging.root), **{name: _level(logging.getLogger(name)) for name in sorted(known)}}


class RuntimeLoggerManager:
    """Changes the levels of Python's loggers, which have no TRACE: that is DEBUG here.

    Kafka: `kafka.server.logger.RuntimeLoggerManager`.
    """

    def __init__(self, node_id: int):
        self._node_id = node_id

    def apply_changes_for_resource(
        self,
        authorized_for_cluster_resource: bool,
        validate_only: bool,
        resource: IncrementalAlterConfigsRequest.AlterConfigsResource,
    ) -> None:
        """Set levels, or take them back, so that those of the logger above count.

        Raises ClusterAuthorizationException, InvalidRequestException and InvalidConfigurationException.
        Kafka: `RuntimeLoggerManager.applyChangesForResource`.
        """
        if not authorized_for_cluster_resource:
            raise ClusterAuthorizationException(Errors.CLUSTER_AUTHORIZATION_FAILED.message)
        self._validate_resource_name_is_node_id(resource.resource_name)
        for each in resource.configs:
            _validate_log_level_config(each.name, each.config_operation, each.value)
        for each in [] if validate_only else resource.configs:
            level = logging.NOTSET if each.value is None else _LEVELS[each.value]
            level = logging.NOTSET if each.config_operation == AlterConfigOp.DELETE else level
            logging.getLogger(None if each.name == ROOT_LOGGER else each.name).setLevel(level)
            logger.warning("Updated the log level of %s to %s", each.name, each.value)

    def _validate_resource_name_is_node_id(self, name: str) -> None:
        try:
            node_id = parse_int(name)
        except NumberFormatException:
            raise InvalidRequestException(f"Node id must be an integer, but it is: {name}") from None
        if node_id != self._node_id:
            raise InvalidRequestException(f"Unexpected node id. Expected {self._node_id}, but received {node_id}")


def _validate_log_level_config(name: str, operation: int, level: str | None) -> None:
    """Kafka: `RuntimeLoggerManager.validateLogLevelConfigs`."""
    kind = ConfigResourceType.BROKER_LOGGER.name
    if operation not in set(AlterConfigOp):
        raise InvalidRequestException(f"Unknown operation type {operation} is not allowed for the {kind} resource")
    if operation not in (AlterConfigOp.SET, AlterConfigOp.DELETE):
        raise InvalidRequestException(
            f"{AlterConfigOp(operation).name} operation is not allowed for the {kind} resource"
        )
    if name not in loggers():
        raise InvalidConfigurationException(f"Logger {name} does not exist!")
    if operation == AlterConfigOp.SET and level not in _LEVELS:
        raise InvalidConfigurationException(
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(_LEVELS))}"
        )
    if operation == AlterConfigOp.DELETE and name == ROOT_LOGGER:
        raise InvalidRequestException(f"Removing the log level of the {ROOT_LOGGER} logger is not allowed")


def _level(each: logging.Logger) -> str:
    """The name of the next level below or at that of the logger."""
    effective = each.getEffectiveLevel()
    return _NAMES[max((level for level in _NAMES if level <= effective), default=logging.DEBUG)]
