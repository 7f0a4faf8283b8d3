"""What handlers ask of the controller: topics are made, grow and are deleted, settings change."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Protocol

from minikafka.common.api_error import ApiError
from minikafka.common.config_resource import ConfigResource
from minikafka.metadata.configuration_control_manager import ConfigChanges
from minikafka.metadata.metadata_image import MetadataImage
from minikafka.metadata.topic_creation import CreatableTopic, CreatableTopicResult, CreatePartitionsTopic


class TopicController(Protocol):
    """The controller, as far as clients change topics through it."""

    @property
    def image(self) -> MetadataImage:
        """The cluster as it has been decided so far."""

    def create_topics(
        self,
        topics: Sequence[CreatableTopic],
        *,
        describable: Container[str] | None = None,
        validate_only: bool = False,
    ) -> list[CreatableTopicResult]:
        """Make the topics, or only say what would come of it."""

    def delete_topics(self, topic_ids: Iterable[str]) -> dict[str, ApiError]:
        """Delete the topics."""

    def create_partitions(
        self, topics: Sequence[CreatePartitionsTopic], *, validate_only: bool = False
    ) -> dict[str, ApiError]:
        """Give topics more partitions, or only say what would come of it."""

    def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, ConfigChanges], *, validate_only: bool = False
    ) -> dict[ConfigResource, ApiError]:
        """Change settings, or only say what would come of it."""

    def legacy_alter_configs(
        self, new_configs: Mapping[ConfigResource, Mapping[str, str]], *, validate_only: bool = False
    ) -> dict[ConfigResource, ApiError]:
        """Replace all settings of resources, or only say what would come of it."""
