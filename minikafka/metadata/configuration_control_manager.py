"""The settings of topics, brokers, groups and metrics of clients, as far as a controller checks and reads them."""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from minikafka.common import topic as topic_names
from minikafka.common.api_error import NO_ERROR, ApiError
from minikafka.common.config_def import Type, split_list
from minikafka.common.config_resource import ConfigResource, ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    ApiException,
    BrokerIdNotRegisteredException,
    ConfigException,
    InvalidRequestException,
    NullPointerException,
    UnknownTopicOrPartitionException,
)
from minikafka.common.java.java_numbers import SHORT_MAX
from minikafka.common.kafka_settings import kafka_settings
from minikafka.log.log_config import LogConfig
from minikafka.log.manager.broker_settings import log_settings
from minikafka.messages.cluster_metadata import ClearElrRecord, ConfigRecord, MetadataRecord
from minikafka.metadata import client_metrics_configs, group_config
from minikafka.metadata.metadata_log import MetadataLog

MIN_IN_SYNC_REPLICAS_CONFIG = "min.insync.replicas"
_OWNERS = {ConfigResourceType.TOPIC: "topic", ConfigResourceType.BROKER: "broker"}
DEFAULT_NODE = ConfigResource(ConfigResourceType.BROKER, "")  # the settings of all brokers


class AlterConfigOp(IntEnum):
    """What is done to a setting; the last two are for lists. Kafka: `AlterConfigOp.OpType`."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3

    @classmethod
    def for_id(cls, number: int) -> "AlterConfigOp | None":
        """The operation of this number, None for a number without one. Kafka: `AlterConfigOp.OpType.forId`."""
        return cls(number) if number in set(cls) else None


class ConfigSource(IntEnum):
    """Where the value of a setting comes from. Kafka: `DescribeConfigsResponse.ConfigSource`."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class ConfigEntry(NamedTuple):
    """A setting as text, and where it comes from. Kafka: `org.apache.kafka.clients.admin.ConfigEntry`."""

    name: str
    value: str
    source: ConfigSource


ConfigChanges = Mapping[str, tuple[AlterConfigOp | None, str]]
"""An operation and its operand for each setting; None for an operation that there is not."""


class ConfigurationControlManager:
    """What is set, and what may be. Kafka: `org.apache.kafka.controller.ConfigurationControlManager`.

    Methods return records; whoever calls appends them. Simpler than Kafka's: no policies, no cordoned directories; the
    settings of brokers are kept, not checked.
    """

    def __init__(self, log: MetadataLog, static_config: Mapping[str, str], node_id: int | None = None):
        """`static_config` is what stands in the controller's own file, by the names of a broker's settings.

        `node_id`: the controller's node, None where it has no settings of its own.
        """
        self._node_id = node_id
        self._log = log
        self._static_config = static_config

    def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, ConfigChanges]
    ) -> tuple[dict[ConfigResource, ApiError], list[MetadataRecord]]:
        """What comes of the changes of each resource, and the records of those that are possible.

        Kafka: `ConfigurationControlManager.incrementalAlterConfigs`.
        """
        decided = {resource: self._incremental_alter(resource, asked) for resource, asked in changes.items()}
        return self._results_and_records(decided)

    def incremental_alter_config(
        self, resource: ConfigResource, changes: ConfigChanges, newly_created_resource: bool = False
    ) -> tuple[ApiError, list[MetadataRecord]]:
        """The records that change settings of `resource`; with an error there are none.

        Kafka: `ConfigurationControlManager.incrementalAlterConfig`.
        """
        error, records = self._incremental_alter(resource, changes, newly_created_resource)
        return error, records + self._clear_elr_records(records)

    def legacy_alter_configs(
        self, new_configs: Mapping[ConfigResource, Mapping[str, str]]
    ) -> tuple[dict[ConfigResource, ApiError], list[MetadataRecord]]:
        """What comes of replacing all settings of each resource, and the records of what is possible.

        Kafka: `ConfigurationControlManager.legacyAlterConfigs`.
        """
        decided = {resource: self._legacy_alter(resource, settings) for resource, settings in new_configs.items()}
        return self._results_and_records(decided)

    def _results_and_records(
        self, decided: Mapping[ConfigResource, tuple[ApiError, list[MetadataRecord]]]
    ) -> tuple[dict[ConfigResource, ApiError], list[MetadataRecord]]:
        records = [record for _, of_resource in decided.values() for record in of_resource]
        results = {resource: error for resource, (error, _) in decided.items()}
        return results, records + self._clear_elr_records(records)

    def _incremental_alter(
        self, resource: ConfigResource, changes: ConfigChanges, newly_created_resource: bool = False
    ) -> tuple[ApiError, list[MetadataRecord]]:
        """Raises NullPointerException for an operation that there is not.

        Kafka: `ConfigurationControlManager.incrementalAlterConfigResource`.
        """
        current = self._log.image.configs.config_map_for_resource(resource)
        altered: dict[str, str | None] = {}
        for name, (operation, operand) in changes.items():
            if operation is None:
                raise NullPointerException
            if operation in {AlterConfigOp.APPEND, AlterConfigOp.SUBTRACT} and not _is_splittable(resource, name):
                reason = f"Can't {operation.name} to key {name} because its type is not LIST."
                return ApiError(Errors.INVALID_CONFIG, reason), []
            altered[name] = _new_value(resource.type, name, current.get(name), operation, operand)
        records = self._config_records(resource, altered)
        error = self._validate_alter_config(resource, records, [], newly_created_resource)
        return (error, []) if error.is_failure() else (NO_ERROR, records)

    def _legacy_alter(
        self, resource: ConfigResource, new_configs: Mapping[str, str]
    ) -> tuple[ApiError, list[MetadataRecord]]:
        """Kafka: `ConfigurationControlManager.legacyAlterConfigResource`."""
        current = self._log.image.configs.config_map_for_resource(resource)
        altered = self._config_records(resource, new_configs)
        deleted = self._config_records(resource, {name: None for name in current if name not in new_configs})
        error = self._validate_alter_config(resource, altered, deleted, newly_created_resource=False)
        return (error, []) if error.is_failure() else (NO_ERROR, [*altered, *deleted])

    def _config_records(self, resource: ConfigResource, altered: Mapping[str, str | None]) -> list[MetadataRecord]:
        """The new values as records; None: removed. What stays as it is has none.

        Only a broker's settings always have them: it reads its settings again when there is a record.
        """
        current = self._log.image.configs.config_map_for_resource(resource)
        return [
            ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)
            for name, value in altered.items()
            if value != current.get(name) or resource.type is ConfigResourceType.BROKER
        ]

    def get_statically_configured_min_insync_replicas(self) -> int:
        """`min.insync.replicas` of the controller's own file, else Kafka's default.

        Kafka: `ConfigurationControlManager.getStaticallyConfiguredMinInsyncReplicas`.
        """
        return LogConfig.from_props(log_settings(self._static_config), {}).min_in_sync_replicas

    def get_topic_config(self, topic: str) -> LogConfig:
        """The settings of a topic: its own, else the controller's, else those of all brokers, else those in the
        controller's file, else Kafka's.

        Kafka: `ConfigurationControlManager.getTopicConfig`, which gives one of them.
        """
        own = self._log.image.configs.config_map_for_resource(ConfigResource.topic(topic))
        defaults = {**log_settings(self._settings_of_all_nodes()), **log_settings(self._current_controller_config())}
        return LogConfig.from_props(defaults, own)

    def compute_effective_topic_configs(self, creation_configs: Mapping[str, str]) -> list[ConfigEntry]:
        """The settings that a topic made with `creation_configs` has, by name, in ascending order.

        Kafka: `ConfigurationControlManager.computeEffectiveTopicConfigs`.
        """
        of_controller = log_settings(self._current_controller_config())
        of_all_brokers = log_settings(self._log.image.configs.config_map_for_resource(DEFAULT_NODE))
        of_file = log_settings(self._static_config)
        entries = []
        for name in sorted({*LogConfig.non_internal_config_names(), *creation_configs}):
            if name in creation_configs:
                entry = ConfigEntry(name, creation_configs[name], ConfigSource.DYNAMIC_TOPIC_CONFIG)
            elif name in of_controller:
                entry = ConfigEntry(name, str(of_controller[name]), ConfigSource.DYNAMIC_BROKER_CONFIG)
            elif name in of_all_brokers:
                entry = ConfigEntry(name, str(of_all_brokers[name]), ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
            elif name in of_file:
                entry = ConfigEntry(name, str(of_file[name]), ConfigSource.STATIC_BROKER_CONFIG)
            else:
                entry = ConfigEntry(name, _default(ConfigResourceType.TOPIC, name), ConfigSource.DEFAULT_CONFIG)
            entries.append(entry)
        return entries

    def _current_controller_config(self) -> Mapping[str, str]:
        """What is set for the controller's own node. Kafka: `ConfigurationControlManager.currentControllerConfig`."""
        if self._node_id is None:
            return {}
        resource = ConfigResource(ConfigResourceType.BROKER, str(self._node_id))
        return self._log.image.configs.config_map_for_resource(resource)

    def _settings_of_all_nodes(self) -> dict[str, str]:
        return {**self._static_config, **self._log.image.configs.config_map_for_resource(DEFAULT_NODE)}

    def _validate_alter_config(
        self,
        resource: ConfigResource,
        altered: list[MetadataRecord],
        deleted: list[MetadataRecord],
        newly_created_resource: bool,
    ) -> ApiError:
        """Kafka: `ConfigurationControlManager.validateAlterConfig`."""
        after = dict(self._log.image.configs.config_map_for_resource(resource))
        for record in (*altered, *deleted):
            assert isinstance(record, ConfigRecord)
            error = self._validate_record(record)
            if error.is_failure():
                return error
            if record.value is None:
                after.pop(record.name, None)
            else:
                after[record.name] = record.value
        try:
            self._validate_resource(resource, after)
            if not newly_created_resource:
                self._check_existence(resource)
        except ConfigException as exception:
            return ApiError(Errors.INVALID_CONFIG, str(exception))
        except ApiException as exception:
            return ApiError.from_exception(exception)
        return NO_ERROR

    def _validate_record(self, record: ConfigRecord) -> ApiError:
        is_min_isr_of_brokers = (
            record.name == MIN_IN_SYNC_REPLICAS_CONFIG and record.resource_type is ConfigResourceType.BROKER
        )
        elr_enabled = self._log.image.features.is_elr_enabled()
        if elr_enabled and is_min_isr_of_brokers and record.resource_name:
            reason = f"Broker-level {MIN_IN_SYNC_REPLICAS_CONFIG} cannot be altered while ELR is enabled."
            return ApiError(Errors.INVALID_CONFIG, reason)
        if elr_enabled and is_min_isr_of_brokers and record.value is None:
            reason = f"Cluster-level {MIN_IN_SYNC_REPLICAS_CONFIG} cannot be removed while ELR is enabled."
            return ApiError(Errors.INVALID_CONFIG, reason)
        if record.value is not None and len(record.value) > SHORT_MAX:
            reason = (
                "The configuration value cannot be added because it exceeds the maximum value size of "
                f"{SHORT_MAX} bytes."
            )
            return ApiError(Errors.INVALID_CONFIG, reason)
        return NO_ERROR

    def _validate_resource(self, resource: ConfigResource, settings: Mapping[str, str]) -> None:
        """Kafka: `ControllerConfigurationValidator.validate`."""
        if resource.type is ConfigResourceType.TOPIC:
            if not resource.name:
                raise InvalidRequestException("Default topic resources are not allowed.")
            topic_names.validate(resource.name)
            LogConfig.validate_names(settings)
            of_node = log_settings({**self._settings_of_all_nodes(), **self._current_controller_config()})
            LogConfig.validate_topic_log_config_values(LogConfig.from_props(of_node, settings))
        elif resource.type is ConfigResourceType.BROKER:
            if resource.name and _broker_id(resource.name) < 0:
                raise InvalidRequestException("Invalid negative broker ID.")
        elif resource.type is ConfigResourceType.CLIENT_METRICS:
            client_metrics_configs.validate(resource.name, settings)
        elif resource.type is ConfigResourceType.GROUP:
            if not resource.name:
                raise InvalidRequestException("Default group resources are not allowed.")
            group_config.validate(settings, self._static_config)
        else:
            raise InvalidRequestException(f"Unknown resource type {resource.type.name}")

    def _check_existence(self, resource: ConfigResource) -> None:
        """Kafka: `QuorumController.ConfigResourceExistenceChecker`."""
        image = self._log.image
        if resource.type is ConfigResourceType.TOPIC and image.topics.get_topic(resource.name) is None:
            raise UnknownTopicOrPartitionException(f"The topic '{resource.name}' does not exist.")
        if resource.type is ConfigResourceType.BROKER and resource.name:
            if image.cluster.broker(_broker_id(resource.name)) is None:
                raise BrokerIdNotRegisteredException(f"No node with id {resource.name} found.")

    def _clear_elr_records(self, records: list[MetadataRecord]) -> list[MetadataRecord]:
        """Another least ISR makes what is remembered of eligible leaders worthless.

        Kafka: `ConfigurationControlManager.createClearElrRecordsAsNeeded`.
        """
        if not self._log.image.features.is_elr_enabled():
            return []
        return [
            ClearElrRecord(topic_name=record.resource_name if record.resource_type is ConfigResourceType.TOPIC else "")
            for record in records
            if isinstance(record, ConfigRecord) and record.name == MIN_IN_SYNC_REPLICAS_CONFIG
        ]


def _is_splittable(resource: ConfigResource, name: str) -> bool:
    """Kafka: `KafkaConfigSchema.isSplittable`."""
    setting = kafka_settings(_OWNERS[resource.type]).get(name) if resource.type in _OWNERS else None
    return setting is not None and setting.type is Type.LIST


def _default(resource_type: ConfigResourceType, name: str) -> str:
    """Kafka's default; "" where it has none. Kafka: `KafkaConfigSchema.getDefault`."""
    return kafka_settings(_OWNERS[resource_type])[name].default or ""


def _new_value(
    resource_type: ConfigResourceType, name: str, value: str | None, operation: AlterConfigOp, operand: str
) -> str | None:
    if operation is AlterConfigOp.SET:
        return operand
    if operation is AlterConfigOp.DELETE:
        return None
    value = _default(resource_type, name) if value is None else value
    parts = [part for part in split_list(value) if part]
    for part in split_list(operand):
        if operation is AlterConfigOp.APPEND and part not in parts:
            parts.append(part)
        elif operation is AlterConfigOp.SUBTRACT and part in parts:
            parts.remove(part)
    return ",".join(parts)


def _broker_id(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise InvalidRequestException("Unable to parse broker name as a base 10 number.") from None
