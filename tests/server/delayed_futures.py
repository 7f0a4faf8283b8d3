"""A delayed operation for tests, whose conditions are set by hand."""

from minikafka.server.delayed_operation import DelayedOperation


class DelayedFuture(DelayedOperation):
    """Complete when every event of `events` has happened; completing it ends the wait for each of them.

    Kafka: `org.apache.kafka.server.purgatory.DelayedFuture`.
    """

    def __init__(self, delay_ms: int, *events: "Event"):
        super().__init__(delay_ms)
        self.events = events
        self.tried = 0  # how often it was asked
        self.story: list[str] = []  # "complete" and "expire", in the order in which they happened

    def try_complete(self) -> bool:
        self.tried += 1
        return all(event.happened for event in self.events) and self.force_complete()

    def on_complete(self) -> None:
        for event in self.events:
            event.happen()
        self.story.append("complete")

    def on_expiration(self) -> None:
        self.story.append("expire")


class Event:
    """Something that happens once."""

    def __init__(self) -> None:
        self.happened = False

    def happen(self) -> None:
        self.happened = True
