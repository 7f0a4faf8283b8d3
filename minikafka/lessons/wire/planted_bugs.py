"""What *The wire* plants into minikafka for a moment, so that the witnesses can find it."""

from collections.abc import Callable
from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.network.request import NoBytes
from minikafka.network.server.kafka_channel import KafkaChannel
from minikafka.network.server.socket_server import SocketServer


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a broker reads the next request while one is in work": (
            KafkaChannel,
            "is_muted",
            property(lambda channel: False),
        ),
        "without an answer the connection stays muted": (
            SocketServer,
            "_respond",
            _unmutes_only_after_bytes(SocketServer._respond),
        ),
    }


def _unmutes_only_after_bytes(respond: Callable[..., None]) -> Callable[..., None]:
    """A server that waits for an answer to go out, also where there is none to send."""

    def wrong(server: Any, channel: Any, answer: Any) -> None:
        if answer is not NoBytes.NO_RESPONSE:
            respond(server, channel, answer)

    return wrong
