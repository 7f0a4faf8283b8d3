"""DescribeCluster, key 60, versions 0–2: which brokers a cluster has.

What Kafka does:

- Everybody is answered. What the client may do with the cluster is told on request.
- Any alive broker is named as the controller, for it forwards requests.
- A broker that is asked for controllers answers MISMATCHED_ENDPOINT_TYPE, in version 0 INVALID_REQUEST.

Versions: 1 says whether brokers or controllers are meant, 2 tells fenced brokers, too, on request.
"""

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.common.error_codes import Errors
from minikafka.messages.apis import DescribeClusterRequest, DescribeClusterResponse
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel

NO_CONTROLLER_ID = -1
_ENDPOINT_TYPES = {1: "BROKER", 2: "CONTROLLER"}


class DescribeClusterHandler:
    """Answers DescribeCluster out of the broker's cache, which may be late.

    Kafka names any alive broker as the controller, for all forward requests; here it is the first one.
    Kafka: `KafkaApis.handleDescribeCluster`.
    """

    def __init__(
        self, metadata_cache: MetadataCache, auth_helper: AuthHelper, request_channel: RequestChannel, cluster_id: str
    ):
        self._metadata_cache = metadata_cache
        self._auth_helper = auth_helper
        self._request_channel = request_channel
        self._cluster_id = cluster_id

    def handle_describe_cluster(self, request: Request) -> None:
        """Answer with the brokers, fenced ones only if the request wants them. Kafka: `handleDescribeCluster`."""
        self._request_channel.send_response(request, self._compute_describe_cluster_response(request))

    def _compute_describe_cluster_response(self, request: Request) -> DescribeClusterResponse:
        """Kafka: `AuthHelper.computeDescribeClusterResponse`."""
        body, is_first_version = request.body_of(DescribeClusterRequest), request.header.api_version == 0
        wanted = _ENDPOINT_TYPES.get(body.endpoint_type)
        if wanted is None:
            return DescribeClusterResponse(
                error_code=Errors.INVALID_REQUEST if is_first_version else Errors.UNSUPPORTED_ENDPOINT_TYPE,
                error_message=f"Unsupported endpoint type {body.endpoint_type}",
            )
        if wanted != "BROKER":
            return DescribeClusterResponse(
                error_code=Errors.INVALID_REQUEST if is_first_version else Errors.MISMATCHED_ENDPOINT_TYPE,
                error_message=(
                    f"The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type {wanted}"
                ),
            )
        response = DescribeClusterResponse(cluster_id=self._cluster_id, endpoint_type=body.endpoint_type)
        if body.include_cluster_authorized_operations:
            is_describable = self._auth_helper.authorize(request, AclOperation.DESCRIBE, ResourceType.CLUSTER)
            response.cluster_authorized_operations = (
                self._auth_helper.authorized_operations(request, ResourceType.CLUSTER) if is_describable else 0
            )
        nodes = self._metadata_cache.get_broker_nodes(request.listener_name)
        alive = [node for node in nodes if not node.is_fenced]
        response.controller_id = alive[0].id if alive else NO_CONTROLLER_ID
        response.brokers = [
            DescribeClusterResponse.DescribeClusterBroker(
                broker_id=node.id, host=node.host, port=node.port, rack=node.rack, is_fenced=node.is_fenced
            )
            for node in (nodes if body.include_fenced_brokers else alive)
        ]
        return response
