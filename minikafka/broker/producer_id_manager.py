"""The ids that a broker gives to producers."""

import threading
from collections.abc import Callable

from minikafka.common.error_codes import Errors
from minikafka.common.errors import ApiException, CoordinatorLoadInProgressException
from minikafka.metadata.controller import ProducerIdsBlock


class ProducerIdManager:
    """Gives away the ids of a block, and asks the controller for another when none is left.

    Simpler than Kafka: the controller answers at once, so no block is asked for in advance, and nobody is told to
    come again (COORDINATOR_LOAD_IN_PROGRESS) unless the controller refuses. Ids that were not given away are lost when
    the broker stops. Kafka: `RPCProducerIdManager`.
    """

    def __init__(self, allocate: Callable[[], ProducerIdsBlock]):
        """`allocate()` asks the controller for a block; what it raises means that there is none now."""
        self._allocate = allocate
        self._lock = threading.Lock()
        self._next = self._end = 0

    def generate_producer_id(self) -> int:
        """An id that nobody else has. Raises CoordinatorLoadInProgressException: the client had better try again.

        Kafka: `ProducerIdManager.generateProducerId`.
        """
        with self._lock:
            if self._next == self._end:
                try:
                    block = self._allocate()
                except ApiException as error:
                    raise CoordinatorLoadInProgressException(
                        f"Producer ID block is full. {Errors.for_exception(error).name}"
                    ) from error
                self._next, self._end = block.first_producer_id, block.first_producer_id + block.size
            self._next += 1
            return self._next - 1
