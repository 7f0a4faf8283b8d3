"""ListConfigResources, key 74, versions 0–1: what there is that has settings.

What Kafka does:

- The right to DESCRIBE_CONFIGS of the cluster is needed, else CLUSTER_AUTHORIZATION_FAILED.
- Topics and brokers are told whether they have settings or not, groups and subscriptions of metrics only with some.
- A kind of resource that Kafka does not know gets UNSUPPORTED_VERSION.

Versions: 0 asks for subscriptions of metrics alone, 1 for any kinds, and for all if it names none.
"""

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.messages.apis import ListConfigResourcesRequest, ListConfigResourcesResponse
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel

_SUPPORTED = {kind for kind in ConfigResourceType if kind is not ConfigResourceType.UNKNOWN}


class ListConfigResourcesHandler:
    """Answers ListConfigResources out of the broker's cache: groups and subscriptions only if they have own settings.

    Simpler than Kafka: the names of each kind are sorted. Kafka: `KafkaApis.handleListConfigResources`.
    """

    def __init__(self, metadata_cache: MetadataCache, auth_helper: AuthHelper, request_channel: RequestChannel):
        self._metadata_cache = metadata_cache
        self._auth_helper = auth_helper
        self._request_channel = request_channel

    def handle_list_config_resources(self, request: Request) -> None:
        """Answer with all resources, or those of the kinds asked for. Kafka: `KafkaApis.handleListConfigResources`."""
        if not self._auth_helper.authorize(request, AclOperation.DESCRIBE_CONFIGS, ResourceType.CLUSTER):
            self._request_channel.send_error_response(request, Errors.CLUSTER_AUTHORIZATION_FAILED)
            return
        supported = {ConfigResourceType.CLIENT_METRICS} if request.header.api_version == 0 else _SUPPORTED
        asked = set(request.body_of(ListConfigResourcesRequest).resource_types) or supported
        response = ListConfigResourcesResponse()
        if not asked <= supported:
            response.error_code = Errors.UNSUPPORTED_VERSION
        else:
            brokers = [str(node.id) for node in self._metadata_cache.get_broker_nodes(request.listener_name)]
            names = {
                ConfigResourceType.GROUP: self._names_with_settings(ConfigResourceType.GROUP),
                ConfigResourceType.CLIENT_METRICS: self._names_with_settings(ConfigResourceType.CLIENT_METRICS),
                ConfigResourceType.BROKER_LOGGER: brokers,
                ConfigResourceType.BROKER: brokers,
                ConfigResourceType.TOPIC: sorted(self._metadata_cache.get_all_topics()),
            }
            make = ListConfigResourcesResponse.ConfigResource
            response.config_resources = [
                make(resource_name=name, resource_type=kind) for kind in names if kind in asked for name in names[kind]
            ]
        self._request_channel.send_response(request, response)

    def _names_with_settings(self, kind: ConfigResourceType) -> list[str]:
        configs = self._metadata_cache.image.configs
        return sorted(resource.name for resource in configs.resource_data if resource.type is kind)
