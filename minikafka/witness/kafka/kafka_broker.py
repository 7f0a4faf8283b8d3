"""A real Kafka broker on this machine: one node that is its own controller and reachable from here alone."""

import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from minikafka.common.uuid import random_uuid
from minikafka.witness.kafka.kafka_tools import STORAGE_TOOL, run_tool, tool_command

_START_TIMEOUT_S = 60
_STOP_TIMEOUT_S = 30
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class BrokerError(Exception):
    """The broker's directory could not be formatted, or the broker did not come up; the message ends with what it
    printed last.
    """


class KafkaBroker:
    """Kafka 4.3.0 on one log.dir, listening on a free port of 127.0.0.1. As a context manager, it is up inside the
    block and stopped after it.

    - `home` holds `log.dir` (Kafka's `log.dirs`), `server.properties` and what the broker printed (`broker.out`). A
      directory that is already formatted is used as it is.
    - `stop` ends it as an operator would (a clean shutdown), `kill` as a power cut would.
    - `settings` count more than its own. Several nodes of one cluster are given the same `cluster_id`, and `ports`: the
      broker's, and the controller's, which the others have to know before it is up.
    - `java_options` come behind those of a small JVM that starts soon, and count more.
    """

    def __init__(
        self,
        home: Path,
        settings: Mapping[str, str] | None = None,
        *,
        cluster_id: str | None = None,
        ports: tuple[int, int] | None = None,
        java_options: Sequence[str] = (),
    ):
        self.home = home
        self.log_dir = self.home / "log.dir"
        self.port = 0
        self._cluster_id = cluster_id
        self._ports = ports
        self._settings = dict(settings or {})
        self._java_options = java_options
        self._process = None

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process that it runs in."""
        return self._process.pid

    def __enter__(self) -> "KafkaBroker":
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self) -> None:
        """Format the log.dir if it is new, and start. Returns when clients can connect. Raises BrokerError."""
        self.log_dir.mkdir(parents=True, exist_ok=True)
        self.port, controller_port = self._ports or free_ports(2)
        properties = self.home / "server.properties"
        properties.write_text("".join(f"{k}={v}\n" for k, v in self._properties(controller_port).items()))
        if not (self.log_dir / "meta.properties").exists():
            formatted = run_tool(STORAGE_TOOL, "format", "-t", self._cluster_id or random_uuid(), "-c", str(properties))
            if formatted.exit_code:
                raise BrokerError(f"Kafka's storage tool refused to format {self.log_dir}: {formatted.stderr[-2000:]}")
        with open(self.home / "broker.out", "wb") as output:
            self._process = subprocess.Popen(
                tool_command("kafka.Kafka", str(properties), java_options=self._java_options),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._await_port()

    def stop(self) -> None:
        """Shut down cleanly: logs flushed and closed, checkpoints and the clean-shutdown marker written."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it on the spot (kill -9)."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise BrokerError(f"the broker did not end in {_STOP_TIMEOUT_S} s: {self._last_words()}") from None
        finally:
            self._process = None

    def _properties(self, controller_port: int) -> dict[str, str]:
        listeners = f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller_port}"
        own = {
            "listeners": listeners,
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "log.dirs": str(self.log_dir.resolve()),
        }
        return {**_SETTINGS, **own, **self._settings}

    def _await_port(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise BrokerError(f"the broker ended with exit code {self._process.returncode}: {self._last_words()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.kill()
        raise BrokerError(f"the broker was not up after {_START_TIMEOUT_S} s: {self._last_words()}")

    def _last_words(self) -> str:
        return (self.home / "broker.out").read_text(errors="replace")[-2000:]


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
