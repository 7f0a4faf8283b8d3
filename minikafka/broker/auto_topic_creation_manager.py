"""Topics that come into being because somebody asks about them."""

import logging
from collections.abc import Iterable
from typing import Protocol

from minikafka.common import topic as topic_names
from minikafka.common.error_codes import Errors
from minikafka.common.errors import ApiException, InvalidTopicException
from minikafka.common.java.scala_hash_map import in_order_of_a_map_grown
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.metadata.topic_creation import CreatableTopic, CreatableTopicResult
from minikafka.server.broker_config import BrokerConfig

logger = logging.getLogger(__name__)


class TopicCreator(Protocol):
    """The controller, as far as it makes topics. Kafka: `kafka.server.TopicCreator`."""

    def create_topics(self, topics: list[CreatableTopic]) -> list[CreatableTopicResult]:
        """Make the topics; a result for each."""


class AutoTopicCreationManager:
    """Asks the controller for topics; whoever asked about one learns of it at the next question.

    Simpler than Kafka: the controller answers at once, so no creation is ever under way; the internal topics of
    coordinators have no settings of their own here. Kafka: `kafka.server.DefaultAutoTopicCreationManager`.
    """

    def __init__(self, config: BrokerConfig, topic_creator: TopicCreator):
        self._topic_creator = topic_creator
        get = config.get_int
        self._num_partitions = get("num.partitions") if "num.partitions" in config.originals else -1
        has_factor = "default.replication.factor" in config.originals
        self._replication_factor = get("default.replication.factor") if has_factor else -1

    def create_topics(self, topics: Iterable[str]) -> dict[str, Errors]:
        """Ask for those of `topics` that may have that name; what whoever asked is told of each now.

        Kafka: `AutoTopicCreationManager.createTopics`.
        """
        told: dict[str, Errors] = {}
        creatable = []
        for name in topics:
            try:
                topic_names.validate(name)
                creatable.append(name)
            except InvalidTopicException:
                told[name] = Errors.INVALID_TOPIC_EXCEPTION
        creatable = in_order_of_a_map_grown(creatable)  # in that order they come into the metadata log
        if creatable:
            self._send(creatable)
        return told | dict.fromkeys(creatable, Errors.UNKNOWN_TOPIC_OR_PARTITION)

    def _send(self, names: list[str]) -> None:
        topics = [creatable_topic(name, self._num_partitions, self._replication_factor) for name in names]
        try:
            results = self._topic_creator.create_topics(topics)
        except ApiException as error:
            logger.warning("Auto topic creation failed for %s: %s", names, error)
            return
        for result in results:
            if result.error_code != Errors.NONE:
                logger.warning("Auto topic creation failed for %s: %s", result.name, Errors(result.error_code).name)
