"""InitProducerId, key 22, versions 0–5: an idempotent producer gets its id.

What Kafka does:

- Without a transactional id, the right IDEMPOTENT_WRITE or that to write to any topic is enough.
- A producer's id and epoch are both given, or neither, else INVALID_REQUEST.
- Ids come from a block that the controller has given to the broker; the epoch is 0.
- With a transactional id the transaction coordinator answers. Here there is none, and nobody may use such an id:
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED, as from FindCoordinator.

Versions: 2 has tagged fields, 3 the id and epoch that a producer had before, 4 the error PRODUCER_FENCED, 5 the error
TRANSACTION_ABORTABLE. Version 6, with two-phase commit, is not released.
"""

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.broker.producer_id_manager import ProducerIdManager
from minikafka.common.error_codes import Errors
from minikafka.messages.apis import InitProducerIdRequest, InitProducerIdResponse
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.record.format.batch_header import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


class InitProducerIdHandler:
    """Gives out producer ids. Kafka: `KafkaApis.handleInitProducerIdRequest`."""

    def __init__(
        self, auth_helper: AuthHelper, request_channel: RequestChannel, producer_id_manager: ProducerIdManager
    ):
        self._auth_helper = auth_helper
        self._request_channel = request_channel
        self._producer_id_manager = producer_id_manager

    def handle_init_producer_id_request(self, request: Request) -> None:
        """Give an idempotent producer its id; for transactions there is no coordinator.

        Kafka: `KafkaApis.handleInitProducerIdRequest`, `TransactionCoordinator.handleInitProducerId`.
        """
        body = request.body_of(InitProducerIdRequest)
        transactional_id = body.transactional_id
        if transactional_id is not None:
            if not self._auth_helper.authorize(
                request, AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
            ):
                self._request_channel.send_error_response(request, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
                return
        elif not (
            self._auth_helper.authorize(request, AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER)
            or self._auth_helper.authorize_by_resource_type(request, AclOperation.WRITE, ResourceType.TOPIC)
        ):
            self._request_channel.send_error_response(request, Errors.CLUSTER_AUTHORIZATION_FAILED)
            return
        if (body.producer_id == NO_PRODUCER_ID) != (body.producer_epoch == NO_PRODUCER_EPOCH):
            self._request_channel.send_error_response(request, Errors.INVALID_REQUEST)
        elif transactional_id is None:
            producer_id = self._producer_id_manager.generate_producer_id()
            response = InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
            self._request_channel.send_response(request, response)
        else:
            error = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if transactional_id else Errors.INVALID_REQUEST
            self._request_channel.send_error_response(request, error)
