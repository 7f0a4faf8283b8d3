"""A broker that is its own controller, in a process of its own: what `minikafka serve` runs."""

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from minikafka.broker.broker import Broker
from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME, MetaProperties
from minikafka.common.endpoint import Endpoint
from minikafka.common.errors import KafkaException
from minikafka.common.scheduler import KafkaScheduler
from minikafka.common.time import SystemTime, Time
from minikafka.common.uuid import random_uuid
from minikafka.metadata.controller import Controller
from minikafka.metadata.kafka_config import require_valid
from minikafka.metadata.metadata_log import MetadataLog
from minikafka.metadata.metadata_version import FORMATTED_FEATURES
from minikafka.network.request import Answer
from minikafka.network.server.kafka_channel import KafkaChannel
from minikafka.network.server.socket_server import Handle, SocketServer
from minikafka.network.server.socket_server_config import SocketServerConfig
from minikafka.raft.single_voter_log import METADATA_DIRECTORY, SingleVoterLog

logger = logging.getLogger(__name__)

_PUBLISH_MS = 50
_FOREIGN = ("bootstrap.checkpoint", f"{METADATA_DIRECTORY}/*.checkpoint")
"""What Kafka's own tools lay into a log directory, and minikafka does not: snapshots, above all."""


class BrokerServer:
    """One node: sockets, a broker, its logs, and the controller with its log, all on the machine's clock.

    - An empty directory is formatted: a new cluster begins in it. One that minikafka has served goes on: topics,
      settings and ids of producers are in its metadata log, records in its logs, also after kill -9.
    - A directory that Kafka has written is refused, since its snapshots cannot be read yet: without them all of its
      logs would be taken for strays.
    - Requests are handled in the thread of the sockets; flushing, retention, checkpoints and compaction have theirs.

    Simpler than Kafka: one node, without groups and transactions. Kafka: `KafkaRaftServer`, with process.roles
    broker,controller.
    """

    def __init__(
        self,
        log_dirs: Sequence[Path],
        settings: Mapping[str, str] | None = None,
        *,
        node_id: int = 1,
        time: Time | None = None,
    ):
        """A node that has not started; nothing is touched yet. `settings`: names and texts as in a broker's file.

        Raises what `require_valid` and `SocketServerConfig` raise.
        """
        require_valid({**(settings or {}), "node.id": node_id})
        self.log_dirs = [Path(log_dir).absolute() for log_dir in log_dirs]
        self.node_id = node_id
        self._settings = dict(settings or {})
        self._time = time or SystemTime()
        self._scheduler = KafkaScheduler()
        self._values: SingleVoterLog | None = None
        self.controller: Controller | None = None
        self.broker: Broker | None = None
        self.sockets = SocketServer(SocketServerConfig(self._settings), self._time, self._handle)

    @property
    def endpoints(self) -> list[Endpoint]:
        """Where clients reach the broker, with the ports that it has got."""
        return self.sockets.endpoints

    def start(self, handle: Handle | None = None) -> None:
        """Format or load the directories, and serve clients from when this returns. Kafka: `KafkaRaftServer.startup`.

        Raises KafkaException for directories that cannot be served, what a log manager raises, ConfigException and
        OSError; then nothing is left running.
        """
        cluster_id = self._cluster_id()
        self.sockets.open()
        try:
            self._scheduler.startup()
            # 1. The controller, with all that it has decided. Its log's lock keeps other processes out.
            first = self.log_dirs[0]
            first.mkdir(parents=True, exist_ok=True)
            self._values = SingleVoterLog(
                first / METADATA_DIRECTORY, self.node_id, scheduler=self._scheduler, time=self._time
            )
            self._format(cluster_id)
            controller = self.controller = Controller(
                self._settings,
                seed=secrets.randbits(48),
                log=MetadataLog(self._values),
                features=FORMATTED_FEATURES,
            )
            # 2. The incarnation before is over, however it ended.
            if (before := controller.image.cluster.broker(self.node_id)) is not None and not before.fenced:
                controller.fence_broker(self.node_id)
            # 3. The broker, with its logs.
            self.broker = Broker(
                self.node_id,
                self.log_dirs,
                controller,
                time=self._time,
                scheduler=self._scheduler,
                settings={"process.roles": "broker,controller", **self._settings},
                listeners=self.endpoints,
                incarnation_id=random_uuid(),
                cluster_id=cluster_id,
            )
            self.broker.startup()
            self._scheduler.schedule("publish-metadata", self.publish, _PUBLISH_MS, _PUBLISH_MS)
            # 4. Clients.
            self.sockets.start()
        except BaseException:
            self._let_go()
            raise

    def kill(self) -> None:
        """End at once, as by kill -9: nothing more is written. Not in Kafka."""
        self.sockets.shutdown()
        assert self.broker is not None and self._values is not None
        self.broker.crash()
        self._values.let_go()

    def stop(self) -> None:
        """Stop in order: the next start finds a clean shutdown. Kafka: `KafkaRaftServer.shutdown`."""
        self.sockets.shutdown()
        assert self.broker is not None and self._values is not None
        self.broker.shutdown()
        self._values.close()

    def _handle(self, request: bytearray, channel: KafkaChannel, answer: Callable[[Answer], None]) -> None:
        assert self.broker is not None
        self.broker.handle(
            request,
            client_address=channel.client_address,
            listener_name=channel.listener_name,
            on_answer=answer,
        )
        self.publish()

    def publish(self) -> None:
        """Let the broker read what has been decided. Kafka: `MetadataLoader`, in a thread of its own."""
        assert self.broker is not None and self.controller is not None
        if self.controller.image.offset > self.broker.metadata_cache.image.offset:
            self.broker.publish()

    def _cluster_id(self) -> str:
        """The id of the cluster whose directories these are, a new one for empty ones. Raises KafkaException."""
        found: dict[str, Path] = {}
        for log_dir in self.log_dirs:
            foreign = next((path for pattern in _FOREIGN for path in log_dir.glob(pattern)), None)
            if foreign is not None:
                raise KafkaException(
                    f"{log_dir} was written by Kafka ({foreign.name}): minikafka cannot read its snapshots yet, and "
                    "would take its logs for strays"
                )
            file = log_dir / META_PROPERTIES_NAME
            if not file.exists():
                if log_dir.exists() and any(log_dir.iterdir()):
                    raise KafkaException(f"{log_dir} is not empty and has no {META_PROPERTIES_NAME}: name another one")
                continue
            properties = MetaProperties.read(file)
            if properties.node_id != self.node_id or properties.cluster_id is None:
                raise KafkaException(f"{log_dir} is of node {properties.node_id}, not of node {self.node_id}")
            found[properties.cluster_id] = log_dir
        if len(found) > 1:
            raise KafkaException(f"{' and '.join(map(str, found.values()))} are of different clusters")
        if found and not (self.log_dirs[0] / METADATA_DIRECTORY).is_dir():
            raise KafkaException(
                f"{self.log_dirs[0]} has no {METADATA_DIRECTORY}, without which no log would belong to a topic: it is "
                "in the directory that was named first when the cluster was begun"
            )
        return next(iter(found), None) or random_uuid()

    def _format(self, cluster_id: str) -> None:
        for log_dir in self.log_dirs:
            MetaProperties(cluster_id, self.node_id, random_uuid()).format(log_dir, self._time.milliseconds())

    def _let_go(self) -> None:
        """Release what a start that failed has opened."""
        self.sockets.shutdown()
        self._scheduler.shutdown()
        if self.broker is not None:
            self.broker.log_manager.let_go()
        if self._values is not None:
            self._values.let_go()
