"""DescribeConfigs, key 32, versions 1–4: settings of topics, brokers and groups, and where their values come from.

What Kafka does:

- A topic's, a group's or the cluster's settings need the right DESCRIBE_CONFIGS; what may not be described comes last.
- A kind of resource that Kafka does not know fails the whole request with INVALID_REQUEST.
- A value's source is the first of its synonyms: the topic's own setting, then those of this broker and of all brokers
  that were changed while it ran, then what it was started with, then Kafka's default.
- Values of passwords, and of settings that Kafka does not know, are not told.

Versions: 1 has synonyms, 3 types and Kafka's texts (which are not told here), 4 tagged fields.
"""

import logging
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import CLUSTER_NAME, AclOperation, ResourceType
from minikafka.broker.runtime_logger_manager import loggers
from minikafka.common import topic as topic_names
from minikafka.common.api_error import ApiError
from minikafka.common.config_def import Type, convert_to_string
from minikafka.common.config_resource import ConfigResource, ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.errors import InvalidRequestException, NumberFormatException
from minikafka.common.java.java_numbers import parse_int
from minikafka.common.kafka_settings import KafkaSetting, kafka_definition, kafka_settings
from minikafka.log.log_config import LogConfig
from minikafka.log.manager.broker_settings import TOPIC_CONFIG_SYNONYMS, log_settings
from minikafka.messages.apis import DescribeConfigsRequest, DescribeConfigsResponse
from minikafka.metadata.configuration_control_manager import ConfigSource
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.server.dynamic_broker_config import DynamicBrokerConfig, broker_config_synonyms, known_broker_setting

logger = logging.getLogger(__name__)

Resource = DescribeConfigsRequest.DescribeConfigsResource
Result = DescribeConfigsResponse.DescribeConfigsResult
Entry = Result.DescribeConfigsResourceResult
Synonym = Entry.DescribeConfigsSynonym


class ConfigType(IntEnum):
    """The type of a setting, as clients are told. Kafka: `DescribeConfigsResponse.ConfigType`."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


_AUTHORIZED_BY = {
    ConfigResourceType.TOPIC: (ResourceType.TOPIC, Errors.TOPIC_AUTHORIZATION_FAILED),
    ConfigResourceType.GROUP: (ResourceType.GROUP, Errors.GROUP_AUTHORIZATION_FAILED),
    ConfigResourceType.BROKER: (ResourceType.CLUSTER, Errors.CLUSTER_AUTHORIZATION_FAILED),
    ConfigResourceType.BROKER_LOGGER: (ResourceType.CLUSTER, Errors.CLUSTER_AUTHORIZATION_FAILED),
    ConfigResourceType.CLIENT_METRICS: (ResourceType.CLUSTER, Errors.CLUSTER_AUTHORIZATION_FAILED),
}


class DescribeConfigsHandler:
    """Answers DescribeConfigs out of the metadata cache and the broker's own settings. Kafka: `ConfigHelper`."""

    def __init__(
        self,
        metadata_cache: MetadataCache,
        dynamic_config: DynamicBrokerConfig,
        auth_helper: AuthHelper,
        request_channel: RequestChannel,
    ):
        self._metadata_cache = metadata_cache
        self._dynamic_config = dynamic_config
        self._auth_helper = auth_helper
        self._request_channel = request_channel

    def handle_describe_configs_request(self, request: Request) -> None:
        """Answer for each resource, those that may not be described last.

        Raises InvalidRequestException for a kind of resource that Kafka does not know.
        Kafka: `KafkaApis.handleDescribeConfigsRequest`, `ConfigHelper.handleDescribeConfigsRequest`.
        """
        body = request.body_of(DescribeConfigsRequest)
        results, refused = [], []
        for resource in body.resources:
            kind = ConfigResourceType.for_id(resource.resource_type)
            if kind not in _AUTHORIZED_BY:
                raise InvalidRequestException(
                    f"Unexpected resource type {kind.name} for resource {resource.resource_name}"
                )
            resource_type, error = _AUTHORIZED_BY[kind]
            name = CLUSTER_NAME if resource_type is ResourceType.CLUSTER else resource.resource_name
            if self._auth_helper.authorize(request, AclOperation.DESCRIBE_CONFIGS, resource_type, name):
                results.append(self._describe(resource, body))
            else:
                refused.append(_failed(resource, ApiError.of(error)))
        self._request_channel.send_response(request, DescribeConfigsResponse(results=[*results, *refused]))

    def _describe(self, resource: Resource, asked: DescribeConfigsRequest) -> Result:
        """Kafka: `ConfigHelper.describeConfigs`."""
        describe = {
            ConfigResourceType.TOPIC: self._describe_topic,
            ConfigResourceType.BROKER: self._describe_broker,
            ConfigResourceType.BROKER_LOGGER: self._describe_broker_loggers,
            ConfigResourceType.CLIENT_METRICS: self._describe_client_metrics,
            ConfigResourceType.GROUP: self._describe_group,
        }[ConfigResourceType.for_id(resource.resource_type)]
        try:
            result = describe(resource, _Details(asked))
        except Exception as error:
            logger.info("Error processing describe configs request for resource %s", resource, exc_info=True)
            return _failed(resource, ApiError.from_exception(error))
        result.resource_type, result.resource_name = resource.resource_type, resource.resource_name
        return result

    # Each kind of resource

    def _describe_topic(self, resource: Resource, details: "_Details") -> Result:
        topic = resource.resource_name
        topic_names.validate(topic)
        if not self._metadata_cache.contains(topic):
            return Result(error_code=Errors.UNKNOWN_TOPIC_OR_PARTITION)
        own = {name: str(value) for name, value in self._metadata_cache.topic_config(topic).items()}
        config = LogConfig.from_props(log_settings(self._dynamic_config.originals), own)

        def entry(name: str, value: object) -> Entry:
            synonyms = []
            if name in own:
                source = ConfigSource.DYNAMIC_TOPIC_CONFIG
                synonyms.append(Synonym(name=name, value=convert_to_string(value), source=source))
            if name in TOPIC_CONFIG_SYNONYMS:
                synonyms += self._config_synonyms(TOPIC_CONFIG_SYNONYMS[name], is_sensitive=False)
            return details.entry(kafka_settings("topic").get(name), name, value, synonyms)

        entries = _all_entries(kafka_settings("topic"), config.values, config.props)
        return _result(resource, entries, entry)

    def _describe_broker(self, resource: Resource, details: "_Details") -> Result:
        name = resource.resource_name
        is_of_this_broker = name != ""
        if is_of_this_broker and _broker_id(name) != self._dynamic_config.broker_id:
            raise InvalidRequestException(
                f"Unexpected broker id, expected {self._dynamic_config.broker_id} or empty string, but received {name}"
            )

        def entry(name: str, value: object) -> Entry:
            setting = known_broker_setting(name)
            synonyms = self._config_synonyms(name, is_sensitive=_is_sensitive(setting))
            if not is_of_this_broker:
                synonyms = [each for each in synonyms if each.source == ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG]
            described = details.entry(setting, name, value, synonyms)
            described.read_only = not (setting is not None and setting.name == name and setting.update)
            return described

        if is_of_this_broker:
            config = self._dynamic_config
            entries: Iterable[tuple[str, object]] = _all_entries(
                kafka_settings("broker"), config.values, config.originals
            )
        else:
            entries = self._dynamic_config.current_dynamic_default_configs.items()
        return _result(resource, entries, entry)

    def _describe_broker_loggers(self, resource: Resource, details: "_Details") -> Result:
        broker_id = self._dynamic_config.broker_id
        if not resource.resource_name:
            raise InvalidRequestException("Broker id must not be empty")
        if _broker_id(resource.resource_name) != broker_id:
            raise InvalidRequestException(
                f"Unexpected broker id, expected {broker_id} but received {resource.resource_name}"
            )

        def entry(name: str, value: object) -> Entry:
            return Entry(name=name, value=str(value), config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG)

        return _result(resource, loggers().items(), entry)

    def _describe_client_metrics(self, resource: Resource, details: "_Details") -> Result:
        if not resource.resource_name:
            raise InvalidRequestException("Client metrics subscription name must not be empty")
        own = self._own_settings(resource)

        def entry(name: str, value: object) -> Entry:
            synonyms = []
            if name in own:
                source = ConfigSource.CLIENT_METRICS_CONFIG
                synonyms.append(Synonym(name=name, value=convert_to_string(value), source=source))
            return details.entry(kafka_settings("client_metrics").get(name), name, value, synonyms)

        values = kafka_definition("client_metrics").parse(own)
        return _result(resource, _all_entries(kafka_settings("client_metrics"), values, own), entry)

    def _describe_group(self, resource: Resource, details: "_Details") -> Result:
        if not resource.resource_name:
            raise InvalidRequestException("Group name must not be empty")
        own, of_broker = self._own_settings(resource), self._dynamic_config.values
        defaults = {
            name: of_broker[f"group.{name}"] for name in kafka_settings("group") if f"group.{name}" in of_broker
        }

        def entry(name: str, value: object) -> Entry:
            synonyms = []
            setting = kafka_settings("group").get(name)
            if name in own:
                source = ConfigSource.GROUP_CONFIG
                synonyms.append(Synonym(name=name, value=convert_to_string(value), source=source))
            if name in defaults:
                synonyms += self._config_synonyms(f"group.{name}", is_sensitive=False)
            elif setting is not None and setting.default is not None:
                synonyms.append(Synonym(name=name, value=setting.default, source=ConfigSource.DEFAULT_CONFIG))
            return details.entry(setting, name, value, synonyms)

        props = {**defaults, **own}
        values = kafka_definition("group").parse(props)
        return _result(resource, _all_entries(kafka_settings("group"), values, props), entry)

    def _own_settings(self, resource: Resource) -> Mapping[str, str]:
        kind = ConfigResourceType.for_id(resource.resource_type)
        return self._metadata_cache.config(ConfigResource(kind, resource.resource_name))

    def _config_synonyms(self, name: str, *, is_sensitive: bool) -> list[Synonym]:
        """Where a broker's setting, or one with the same meaning, has a value; the one that counts comes first.

        Kafka: `ConfigHelper.configSynonyms`.
        """
        config = self._dynamic_config
        names = broker_config_synonyms(name, match_listener_override=True)
        found = [
            Synonym(name=each, value=None if is_sensitive else values[each], source=source)
            for values, source in (
                (config.current_dynamic_broker_configs, ConfigSource.DYNAMIC_BROKER_CONFIG),
                (config.current_dynamic_default_configs, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
                (config.static_broker_configs, ConfigSource.STATIC_BROKER_CONFIG),
                (_broker_defaults(), ConfigSource.DEFAULT_CONFIG),
            )
            for each in names
            if each in values
        ]
        first = next((number for number, each in enumerate(found) if each.name == name), len(found))
        return found[first:]


class _Details:
    """How much of each setting a client wants to know. The texts that document settings are Kafka's, and not told."""

    def __init__(self, asked: DescribeConfigsRequest):
        self._include_synonyms = asked.include_synonyms

    def entry(self, setting: KafkaSetting | None, name: str, value: object, synonyms: Sequence[Synonym]) -> Entry:
        """What is told of a setting; the value of one that Kafka does not know may be a secret."""
        is_sensitive = _is_sensitive(setting)
        return Entry(
            name=name,
            value=None if is_sensitive else convert_to_string(value),
            config_source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
            is_sensitive=is_sensitive,
            synonyms=list(synonyms) if self._include_synonyms else [],
            config_type=ConfigType.UNKNOWN if setting is None else ConfigType[setting.type.name],
        )


@cache
def _broker_defaults() -> dict[str, str]:
    """Kafka: `DynamicBrokerConfig.staticDefaultConfigs`."""
    settings = kafka_settings("broker").values()
    return {setting.name: setting.default for setting in settings if setting.default is not None}


def _is_sensitive(setting: KafkaSetting | None) -> bool:
    """Kafka: `KafkaConfig.maybeSensitive`."""
    return setting is None or setting.type is Type.PASSWORD


def _all_entries(
    settings: Mapping[str, KafkaSetting], values: Mapping[str, object], originals: Mapping[str, object]
) -> list[tuple[str, object]]:
    """What is set beside the documented settings, then these.

    Kafka: `ConfigHelperUtils.createResponseConfig`, `AbstractConfig.nonInternalValues`.
    """
    documented = {name: values[name] for name, setting in settings.items() if not setting.internal and name in values}
    others = ((name, value) for name, value in originals.items() if value is not None and name not in documented)
    return [*others, *documented.items()]


def _result(
    resource: Resource, entries: Iterable[tuple[str, object]], describe: Callable[[str, object], Entry]
) -> Result:
    wanted: Container[str] | None = resource.configuration_keys or None
    return Result(configs=[describe(name, value) for name, value in entries if wanted is None or name in wanted])


def _failed(resource: Resource, error: ApiError) -> Result:
    return Result(
        error_code=error.error,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _broker_id(name: str) -> int:
    try:
        return parse_int(name)
    except NumberFormatException:
        raise InvalidRequestException(f"Broker id must be an integer, but it is: {name}") from None
