"""Where a broker can be reached."""

from typing import NamedTuple


class Node(NamedTuple):
    """A broker's id, and host and port of one of its listeners. Kafka: `org.apache.kafka.common.Node`."""

    id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False

    def is_empty(self) -> bool:
        """Whether this stands for a node that is not there. Kafka: `Node.isEmpty`."""
        return not self.host or self.port < 0


NO_NODE = Node(-1, "", -1)
