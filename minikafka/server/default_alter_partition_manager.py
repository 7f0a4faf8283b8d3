"""Asks the controller for another ISR, for all partitions that this broker leads."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from minikafka.common.error_codes import Errors
from minikafka.common.errors import OperationNotAttemptedException
from minikafka.common.scheduler import Scheduler
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.messages.apis import AlterPartitionRequest, AlterPartitionResponse
from minikafka.metadata.leader_and_isr import LeaderAndIsr
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState

logger = logging.getLogger(__name__)

RETRY_BACKOFF_MS = 50


class ControllerChannel(Protocol):
    """The way to the controller. Kafka: `NodeToControllerChannelManager`."""

    def send_request(
        self, request: AlterPartitionRequest, on_complete: Callable[[AlterPartitionResponse], object]
    ) -> None:
        """Send the request; `on_complete(response)` is called once, now or later, in any thread.

        A request that is lost on the way is sent again by the channel, for ever.
        Kafka: `NodeToControllerChannelManager.sendRequest`.
        """


@dataclass(frozen=True, slots=True)
class AlterPartitionItem:
    """A proposal that the controller has not answered yet. Kafka: `AlterPartitionItem`."""

    topic_id_partition: TopicIdPartition
    leader_and_isr: LeaderAndIsr
    future: "Future[LeaderAndIsr]"


class DefaultAlterPartitionManager:
    """Collects the proposals of all partitions and sends them to the controller, one request at a time.

    - A partition has at most one proposal that is not answered. A second one fails at once, with
      OperationNotAttemptedException; the partition then goes back to its last committed ISR.
    - At most one request is on its way. What is proposed meanwhile goes with the next one.
    - An error of the whole request is not the partitions' business: their proposals are sent again 50 ms later. So is
      a proposal that the response leaves out, with the next request.

    Kafka: `kafka.server.DefaultAlterPartitionManager`.
    """

    def __init__(
        self,
        controller_channel: ControllerChannel,
        scheduler: Scheduler,
        broker_id: int,
        broker_epoch_supplier: Callable[[], int],
    ):
        """`broker_epoch_supplier()`: the epoch with which this broker is registered now."""
        self._controller_channel = controller_channel
        self._scheduler = scheduler
        self._broker_id = broker_id
        self._broker_epoch_supplier = broker_epoch_supplier
        self._lock = threading.Lock()  # guards the two fields below; no future is completed under it
        self.unsent_isr_updates: dict[TopicIdPartition, AlterPartitionItem] = {}
        """The proposals that are not answered, sent or not. Kafka: `DefaultAlterPartitionManager.unsentIsrUpdates`."""
        self._request_in_flight = False

    def submit(self, topic_id_partition: TopicIdPartition, leader_and_isr: LeaderAndIsr) -> "Future[LeaderAndIsr]":
        """Propose an ISR; the future gets what the controller has decided, or the exception of its error.

        Kafka: `DefaultAlterPartitionManager.submit`.
        """
        item = AlterPartitionItem(topic_id_partition, leader_and_isr, Future())
        with self._lock:
            enqueued = self.unsent_isr_updates.setdefault(topic_id_partition, item) is item
        if enqueued:
            self.maybe_propagate_isr_changes()
        else:
            item.future.set_exception(
                OperationNotAttemptedException(
                    f"Failed to enqueue ISR change state {leader_and_isr} for partition {topic_id_partition}"
                )
            )
        return item.future

    def maybe_propagate_isr_changes(self) -> None:
        """Send all proposals, unless there is none or a request is on its way.

        Kafka: `DefaultAlterPartitionManager.maybePropagateIsrChanges`.
        """
        with self._lock:
            if self._request_in_flight or not self.unsent_isr_updates:
                return
            self._request_in_flight = True
            items = list(self.unsent_isr_updates.values())  # they stay there until they are answered
        request = self._build_request(items)
        logger.debug("Sending AlterPartition to controller %s", request)
        self._controller_channel.send_request(request, lambda response: self._on_complete(response, request, items))

    def _build_request(self, items: list[AlterPartitionItem]) -> AlterPartitionRequest:
        """Kafka: `DefaultAlterPartitionManager.buildRequest`."""
        make_topic = AlterPartitionRequest.TopicData
        make_member = make_topic.PartitionData.BrokerState
        topics: dict[str, AlterPartitionRequest.TopicData] = {}
        for item in items:
            (topic_id, (_, partition)), proposed = item.topic_id_partition, item.leader_and_isr
            topics.setdefault(topic_id, make_topic(topic_id=topic_id)).partitions.append(
                make_topic.PartitionData(
                    partition_index=partition,
                    leader_epoch=proposed.leader_epoch,
                    partition_epoch=proposed.partition_epoch,
                    new_isr_with_epochs=[
                        make_member(broker_id=member.broker_id, broker_epoch=member.broker_epoch)
                        for member in proposed.isr_with_broker_epoch
                    ],
                    leader_recovery_state=proposed.leader_recovery_state,
                )
            )
        return AlterPartitionRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch_supplier(), topics=list(topics.values())
        )

    def _on_complete(
        self, response: AlterPartitionResponse, request: AlterPartitionRequest, items: list[AlterPartitionItem]
    ) -> None:
        logger.debug("Received AlterPartition response %s", response)
        try:
            self._handle_alter_partition_response(response, request.broker_epoch, items)
        finally:
            with self._lock:
                self._request_in_flight = False
        if response.error_code == Errors.NONE:
            self.maybe_propagate_isr_changes()
        else:
            self._scheduler.schedule_once("send-alter-partition", self.maybe_propagate_isr_changes, RETRY_BACKOFF_MS)

    def _handle_alter_partition_response(
        self, response: AlterPartitionResponse, sent_broker_epoch: int, items: list[AlterPartitionItem]
    ) -> None:
        """Kafka: `DefaultAlterPartitionManager.handleAlterPartitionResponse`."""
        if response.error_code == Errors.STALE_BROKER_EPOCH:
            logger.warning("Broker had a stale broker epoch (%s), retrying.", sent_broker_epoch)
        elif response.error_code != Errors.NONE:
            error = Errors(response.error_code)
            logger.warning("Controller returned %s for a whole AlterPartition request", error.name)
        else:
            results = {
                (topic.topic_id, result.partition_index): result
                for topic in response.topics
                for result in topic.partitions
            }
            for item in items:
                key = item.topic_id_partition.topic_id, item.topic_id_partition.partition
                if key in results:
                    self._answer(item, results[key])
                else:
                    logger.warning("Partition %s was sent but not included in the response", item.topic_id_partition)

    def _answer(self, item: AlterPartitionItem, result: AlterPartitionResponse.TopicData.PartitionData) -> None:
        with self._lock:
            # Before the future is completed: whoever waits for it may propose the next ISR at once.
            self.unsent_isr_updates.pop(item.topic_id_partition, None)
        failure = Errors(result.error_code).exception()
        if failure is not None:
            item.future.set_exception(failure)
        else:
            item.future.set_result(
                LeaderAndIsr.of(
                    result.leader_id,
                    result.leader_epoch,
                    result.isr,
                    LeaderRecoveryState(result.leader_recovery_state),
                    result.partition_epoch,
                )
            )
