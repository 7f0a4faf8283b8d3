"""What is known of each API of Kafka's protocol; which there are stands in `api_keys`."""

from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Literal, Self, TypeAlias

from minikafka.common.errors import IllegalArgumentException
from minikafka.messages.message_schema import MessageSchema
from minikafka.messages.message_tables import message_schema
from minikafka.messages.versions import Versions

ListenerType: TypeAlias = Literal["broker", "controller"]

_API_VERSIONS = 18
PRODUCE_API_VERSIONS_RESPONSE_MIN_VERSION = 0
"""Told to clients, though the versions below 3 are gone: a client library does not compress if it sees a higher one."""


class ApiKey(IntEnum):
    """What a request asks for; the value is what stands in its header. Kafka: `ApiKeys`, its methods."""

    @classmethod
    @lru_cache(maxsize=1024)
    def for_id(cls, number: int) -> Self:
        """The API of this number. Raises IllegalArgumentException. Kafka: `ApiKeys.forId`."""
        try:
            return cls(number)
        except ValueError:
            raise IllegalArgumentException(f"Unexpected api key: {number}") from None

    @property
    def message_name(self) -> str:
        """The name of its messages ("Produce"), before "Request" and "Response". Kafka: `ApiKeys.name`."""
        return self.name.title().replace("_", "")

    @cached_property
    def has_valid_version(self) -> bool:
        """False for an API that is gone and whose number stays reserved. Kafka: `ApiKeys.hasValidVersion`."""
        return self.versions.lowest <= self.versions.highest

    @cached_property
    def request_schema(self) -> MessageSchema:
        """The schema of its requests; of an API that is gone, without versions and fields."""
        return message_schema("apis", self.message_name + "Request")

    @cached_property
    def response_schema(self) -> MessageSchema:
        """The schema of its responses, of an API that is not gone."""
        return message_schema("apis", self.message_name + "Response")

    @property
    def versions(self) -> Versions:
        """All versions, also one that is not released; the last is below the first if the API is gone.

        Kafka: `ApiKeys.oldestVersion`, `latestVersion`.
        """
        return self.request_schema.versions

    @cached_property
    def stable_versions(self) -> Versions:
        """The released versions. Kafka: `ApiKeys.latestVersion(false)`."""
        lowest, highest = self.versions
        return Versions(lowest, highest - self.request_schema.latest_unstable)

    @lru_cache(maxsize=1024)
    def is_version_enabled(self, version: int) -> bool:
        """Whether a request of this version is taken: of ApiVersions any is, and answered with an error.

        Simpler than Kafka: versions that are not released are never enabled (`unstable.api.versions.enable`).
        Kafka: `ApiKeys.isVersionEnabled`.
        """
        lowest, highest = self.stable_versions
        return self == _API_VERSIONS or lowest <= version <= highest

    @lru_cache(maxsize=1024)
    def in_scope(self, listener: ListenerType) -> bool:
        """Whether such requests are heard at that kind of listener. Kafka: `ApiKeys.inScope`."""
        return listener in self.request_schema.listeners

    @lru_cache(maxsize=1024)
    def request_header_version(self, version: int) -> int:
        """2 with tagged fields, 1 without. Kafka: `ApiKeys.requestHeaderVersion`."""
        return 2 if self._is_flexible(version) else 1

    @lru_cache(maxsize=1024)
    def response_header_version(self, version: int) -> int:
        """1 with tagged fields, 0 without; ApiVersions' is 0, for it comes before anything is agreed upon.

        Kafka: `ApiKeys.responseHeaderVersion`.
        """
        return 1 if self._is_flexible(version) and self != _API_VERSIONS else 0

    def _is_flexible(self, version: int) -> bool:
        struct = self.request_schema.struct
        return struct.flexible.has(version, struct.possible)
