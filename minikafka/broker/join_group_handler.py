"""JoinGroup, key 11, versions 0–9: a consumer joins a group. There are no groups here: UNSUPPORTED_VERSION.

What Kafka does:

- Who may not read the group gets GROUP_AUTHORIZATION_FAILED.
- The coordinator waits for the members of the group, and answers them all at once.

The API is named all the same: aiokafka, where it finds the coordinator but not this API, tries again for ever.

Versions: 1 has the time that members get to join again, 4 answers a new member with its id alone, 5 has static members,
6 has tagged fields, 7 the type of the group's protocol, 8 why a member joins, 9 lets the leader keep an assignment.
"""

from minikafka.common.error_codes import Errors
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel


class JoinGroupHandler:
    """Refuses every member. Kafka: `KafkaApis.handleJoinGroupRequest`."""

    def __init__(self, request_channel: RequestChannel):
        self._request_channel = request_channel

    def handle_join_group_request(self, request: Request) -> None:
        """Say that no groups are served. Kafka: `KafkaApis.handleJoinGroupRequest`."""
        self._request_channel.send_error_response(request, Errors.UNSUPPORTED_VERSION)
