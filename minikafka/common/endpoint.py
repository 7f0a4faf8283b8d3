"""Where a broker listens."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A listener: its name, the host whose address it takes ("" for all addresses), and its port (0 for any).

    Simpler than Kafka: the security protocol is PLAINTEXT. Kafka: `org.apache.kafka.common.Endpoint`.
    """

    listener_name: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener_name}://{host}:{self.port}"
