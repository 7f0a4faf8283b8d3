"""FindCoordinator, key 10, versions 0–6: which broker coordinates a group or a transactional id.

What Kafka does:

- Who may not describe the group, or the transactional id, is told so, key by key.
- The coordinator leads the partition of `__consumer_offsets` or of `__transaction_state` to which the key belongs. Who
  asks first has that topic made, and gets COORDINATOR_NOT_AVAILABLE until it is there.
- A type of keys that it does not know is an INVALID_REQUEST, as are share groups before version 6.
- Before version 4 there is one key, and the error has its text; from then on the error of a key comes without one.

Here each broker names itself for a group, although it serves none: a client that finds no coordinator goes on asking
(librdkafka's `Consumer.close` waits for one), while one that finds it learns from its next request what is missing.
Nobody gets a coordinator of transactions: TRANSACTIONAL_ID_AUTHORIZATION_FAILED is the error after which no client asks
again, and the text says why.

Versions: 1 has the type of the key and the error's text, 3 has tagged fields, 4 asks for several keys, 5 the error
TRANSACTION_ABORTABLE, 6 share groups.
"""

from typing import NamedTuple

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.common.error_codes import Errors
from minikafka.messages.apis import FindCoordinatorRequest, FindCoordinatorResponse
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_FIRST_VERSION_OF_SEVERAL_KEYS = 4
_FIRST_VERSION_OF_SHARE_GROUPS = 6


class _Found(NamedTuple):
    """The coordinator of a key, or why there is none. `text`: what Kafka does not say."""

    error: Errors
    text: str | None = None
    node_id: int = -1
    host: str = ""
    port: int = -1


class FindCoordinatorHandler:
    """Names this broker for every group. Kafka: `KafkaApis.handleFindCoordinatorRequest`.

    Simpler than Kafka: there are no topics of groups and transactions, and so no other broker to name.
    """

    def __init__(
        self, metadata_cache: MetadataCache, auth_helper: AuthHelper, request_channel: RequestChannel, broker_id: int
    ):
        self._metadata_cache = metadata_cache
        self._auth_helper = auth_helper
        self._request_channel = request_channel
        self._broker_id = broker_id

    def handle_find_coordinator_request(self, request: Request) -> None:
        """Answer each key with this broker or an error. Kafka: `KafkaApis.handleFindCoordinatorRequest`."""
        body = request.body_of(FindCoordinatorRequest)
        if body.key_type not in (_GROUP, _TRANSACTION, _SHARE):
            self._request_channel.send_error_response(request, Errors.INVALID_REQUEST)
            return
        if request.header.api_version < _FIRST_VERSION_OF_SEVERAL_KEYS:
            found = self._get_coordinator(request, body.key_type, body.key)
            response = FindCoordinatorResponse(
                error_code=found.error,
                error_message=found.text or found.error.message,
                node_id=found.node_id,
                host=found.host,
                port=found.port,
            )
        else:
            response = FindCoordinatorResponse()
            for key in body.coordinator_keys:
                found = self._get_coordinator(request, body.key_type, key)
                coordinator = response.Coordinator(
                    key=key,
                    node_id=found.node_id,
                    host=found.host,
                    port=found.port,
                    error_code=found.error,
                    error_message=found.text or "",
                )
                response.coordinators.append(coordinator)
        self._request_channel.send_response(request, response)

    def _get_coordinator(self, request: Request, key_type: int, key: str) -> _Found:
        """Kafka: `KafkaApis.getCoordinator`."""
        if key_type == _SHARE:
            if request.header.api_version < _FIRST_VERSION_OF_SHARE_GROUPS:
                return _Found(Errors.INVALID_REQUEST)
            return _Found(Errors.UNSUPPORTED_VERSION, "this broker serves no share groups")
        if key_type == _TRANSACTION:
            error = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            if not self._auth_helper.authorize(request, AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, key):
                return _Found(error)
            return _Found(error, "this broker serves no transactions: produce without a transactional id")
        if not self._auth_helper.authorize(request, AclOperation.DESCRIBE, ResourceType.GROUP, key):
            return _Found(Errors.GROUP_AUTHORIZATION_FAILED)
        node = self._metadata_cache.get_alive_broker_node(self._broker_id, request.listener_name)
        if node is None:
            return _Found(Errors.COORDINATOR_NOT_AVAILABLE)
        return _Found(Errors.NONE, None, node.id, node.host, node.port)
