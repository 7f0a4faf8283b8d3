"""OffsetFetch, key 9, versions 1–10: up to where a group has read. There are no groups here: UNSUPPORTED_VERSION.

What Kafka does:

- Who may not describe the group gets GROUP_AUTHORIZATION_FAILED. Topics that it may not describe are refused, too.
- A partition for which nothing was committed has the offset −1.

The API is named all the same: a consumer of librdkafka that finds the coordinator but not this API ends its process
(segmentation fault, librdkafka 2.16) when it asks where to begin.

Versions: 2 has an error for the whole answer and may ask for all partitions, 5 has offsets with leader epochs, 6 tagged
fields, 7 asks for stable offsets alone, 8 for several groups, 9 names the member that asks, 10 topics by id.
"""

from minikafka.common.error_codes import Errors
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel


class OffsetFetchHandler:
    """Knows of no committed offsets. Kafka: `KafkaApis.handleOffsetFetchRequest`."""

    def __init__(self, request_channel: RequestChannel):
        self._request_channel = request_channel

    def handle_offset_fetch_request(self, request: Request) -> None:
        """Say that no groups are served. Kafka: `KafkaApis.handleOffsetFetchRequest`."""
        self._request_channel.send_error_response(request, Errors.UNSUPPORTED_VERSION)
