"""A broker that is its own controller, in a process of its own: what `minikafka serve` runs."""

import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from minikafka.broker.broker import Broker, swallow
from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME, MetaProperties
from minikafka.common.canonical_path import canonical_path
from minikafka.common.endpoint import Endpoint
from minikafka.common.errors import (
    ClosedChannelException,
    ConfigException,
    FatalExitError,
    IllegalStateException,
    IOException,
    KafkaException,
)
from minikafka.common.exit import Halt
from minikafka.common.file_lock import FileLock
from minikafka.common.java.java_file_names import is_found_by_java
from minikafka.common.scheduler import KafkaScheduler
from minikafka.common.time import SystemTime, Time
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.common.uuid import random_uuid
from minikafka.log.log_dir_lock import LOCK_FILE_NAME
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.log.manager.log_dirs import lock_log_dir
from minikafka.log.partition_files import look_into, passed_over
from minikafka.messages.cluster_metadata import MetadataRecord, RegisterBrokerRecord
from minikafka.metadata.controller import Controller
from minikafka.metadata.kafka_config import require_valid
from minikafka.metadata.metadata_log import MetadataLog
from minikafka.metadata.metadata_version import FORMATTED_FEATURES
from minikafka.network.request import Answer, NoBytes, Request
from minikafka.network.server.kafka_channel import KafkaChannel
from minikafka.network.server.loop_tasks import LoopTasks
from minikafka.network.server.socket_server import Handle, SocketServer
from minikafka.network.server.socket_server_config import SocketServerConfig
from minikafka.raft.single_voter_log import SingleVoterLog
from minikafka.server.known_settings import require_known

logger = logging.getLogger(__name__)

_PUBLISH_MS = 50
_MOST_TURNS = 10_000
"""Of a cleaner without a pause between its turns (log.cleaner.backoff.ms=0), which never has nothing to do."""
_FOREIGN = ("bootstrap.checkpoint", f"{CLUSTER_METADATA_DIRECTORY}/*.checkpoint")
"""What Kafka's own tools lay into a log directory, and minikafka does not: snapshots, above all."""

_OF_A_FIRST_START = (LOCK_FILE_NAME, CLUSTER_METADATA_DIRECTORY, f"{META_PROPERTIES_NAME}.tmp")
"""What a first start may have made before a kill ended it."""


class BrokerServer:
    """One node: sockets, a broker, its logs, and the controller with its log, all on the machine's clock.

    - An empty directory is formatted: a new cluster begins in it. One that minikafka has served goes on: topics,
      settings and ids of producers are in its metadata log, records in its logs, also after kill -9.
    - A directory that Kafka has written is refused, since its snapshots cannot be read yet: without them all of its
      logs would be taken for strays.
    - A start without a log directory of the start before is refused, unless it is to be forgotten: the logs in it would
      be made anew, empty. So is one with another, empty directory in its place, as a disk that is not mounted leaves.
    - Requests are handled in the thread of the sockets, where those that have waited for their time are answered, too.
      Flushing and retention have a thread, compaction, which may take minutes, has one, and the rest has one.
    - It ends by itself, as by kill -9, where Kafka halts its process: when all log directories have failed, or the
      first one, which has the metadata log. From then on no request is answered.

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
        log_time: Time | None = None,
        around: Callable[[Handle], Handle] = lambda handle: handle,
        halt: Halt = lambda fatal: None,
        forgets_missing: bool = False,
    ):
        """A node that has not started; nothing is touched yet.

        - `settings`: names and texts as in a broker's file.
        - `time`: the broker's clock; connections live by the machine's. `log_time`: the clock by which retention,
          cleaning and flushes become due, `time` if None.
        - `around(handle)`: what handles the requests of clients in place of `handle`, which does so by itself.
        - `forgets_missing`: start though log directories are missing; partitions that were in them begin anew, empty.
        - `halt(fatal)` is called once, first of all, when a node that was up ends by itself: it may end the process.

        Raises ConfigException for a setting that Kafka does not know, and for one that says another id or other log
        directories; what `require_valid` and `SocketServerConfig` raise.
        """
        require_known(settings or {})
        require_valid({**(settings or {}), "node.id": node_id})
        self.log_dirs = [log_dir.absolute() for log_dir in log_dirs]
        self.node_id = node_id
        _require_the_same({"node.id", "broker.id"}, settings or {}, str(node_id))
        _require_the_same({"log.dirs", "log.dir"}, settings or {}, ",".join(map(str, log_dirs)))
        self._settings = dict(settings or {})
        self._time = time or SystemTime()
        self._forgets_missing = forgets_missing
        self._scheduler = KafkaScheduler(time=self._time)
        log_time = log_time or self._time
        self._log_scheduler = KafkaScheduler(thread_name_prefix="minikafka-logs-", time=log_time)
        self._cleaner_scheduler = KafkaScheduler(thread_name_prefix="kafka-log-cleaner-", time=log_time)
        self._halt_process = halt
        self._state_lock = threading.Lock()
        self._has_begun = False  # `start` was called
        self._is_up = False  # guarded by `_state_lock`: clients are served, and nobody has begun to end that
        self._halting: threading.Thread | None = None  # ends a node that ends by itself
        self.fatal: FatalExitError | None = None
        """Why the node has ended by itself; None if it has not."""
        self._locks: list[FileLock] = []  # the broker's, as soon as there is one
        self._values: SingleVoterLog | None = None
        self.controller: Controller | None = None
        self.broker: Broker | None = None
        self.sockets = SocketServer(
            SocketServerConfig(self._settings), SystemTime(), around(self._handle), task_time=self._time
        )

    @property
    def endpoints(self) -> list[Endpoint]:
        """Where clients reach the broker, with the ports that it has got."""
        return self.sockets.endpoints

    @property
    def waiting_requests(self) -> list[Request]:
        """The requests that wait for their answers, at most one of each connection, the oldest one in front."""
        waiting = [channel.waiting_request for channel in self.sockets.channels]
        return sorted(filter(None, waiting), key=lambda request: request.arrived_ms)

    def start(self, *, by_hand: bool = False) -> None:
        """Format or load the directories, and serve clients from when this returns. Kafka: `KafkaRaftServer.startup`.

        `by_hand`: the loop of the sockets has no thread, and goes round when its `turn` is called.

        Raises KafkaException for directories that cannot be served (FatalExitError when their disk fails meanwhile),
        what a log manager raises, ConfigException and OSError; then nothing is left running. Raises
        IllegalStateException when it was called before.
        """
        with self._state_lock:
            if self._has_begun:
                raise IllegalStateException("A node is started once: make another one on its directories")
            self._has_begun = True
        try:
            self._require_files_and_directories()
            self._cluster_id()  # or raise, before anything is made
            self.sockets.open()
            self._scheduler.startup()
            self._log_scheduler.startup()
            self._cleaner_scheduler.startup()
            # 1. The locks: from now on no other broker, Kafka's neither, works on the directories.
            first = self.log_dirs[0]
            first.mkdir(parents=True, exist_ok=True)
            self._lock_log_dirs()
            cluster_id = self._cluster_id()
            # 2. The controller, with all that it has decided.
            self._values = SingleVoterLog(
                first / CLUSTER_METADATA_DIRECTORY,
                self.node_id,
                scheduler=self._scheduler,
                time=self._time,
                halt=self._halt,
            )
            log = MetadataLog(self._values)
            if not self._forgets_missing:
                self._require_all_directories(log.records)
            self._format(cluster_id)
            controller = self.controller = Controller(
                self._settings,
                seed=secrets.randbits(48),
                log=log,
                features=FORMATTED_FEATURES,
                node_id=self.node_id,
            )
            # 3. The incarnation before is over, however it ended.
            if (before := controller.image.cluster.broker(self.node_id)) is not None and not before.fenced:
                controller.fence_broker(self.node_id)
            # 4. The broker, with its logs.
            self.broker = Broker(
                self.node_id,
                self.log_dirs,
                controller,
                time=self._time,
                scheduler=self._scheduler,
                timer_scheduler=self.sockets.tasks,
                settings={"process.roles": "broker,controller", **self._settings},
                listeners=self.endpoints,
                incarnation_id=random_uuid(),
                cluster_id=cluster_id,
                metadata_log_dir=first,
                halt=self._halt,
                log_scheduler=self._log_scheduler,
                cleaner_scheduler=self._cleaner_scheduler,
                held_locks=self._locks,
            )
            self.broker.startup()
            self._scheduler.schedule("publish-metadata", self.publish, _PUBLISH_MS, _PUBLISH_MS)
            # 5. Clients.
            if not by_hand:
                self.sockets.start()
            with self._state_lock:
                if self.fatal is not None:
                    raise self.fatal
                self._is_up = True
        except BaseException:
            self._let_go()
            for lock in self._locks:
                with suppress(ClosedChannelException):  # the broker has released it
                    lock.destroy()
            raise

    def kill(self) -> None:
        """End at once, as by kill -9: nothing more is written. Does nothing when it is not up. Not in Kafka."""
        if self._ends():
            self._let_go()

    def stop(self) -> None:
        """Stop in order: the next start finds a clean shutdown. Does nothing when it is not up.

        A part that cannot stop in order, because its disk has failed, is logged and let go.
        Kafka: `KafkaRaftServer.shutdown`.
        """
        if not self._ends():
            return
        assert self.broker is not None and self._values is not None
        self.sockets.shutdown()
        self.broker.shutdown()
        swallow(self._values.close, "Closing the metadata log has failed")
        self._let_go()

    def _ends(self) -> bool:
        """Whether the caller is the one to end the node; if it ends by itself, wait until it has."""
        with self._state_lock:
            was_up, self._is_up = self._is_up, False
        if self._halting not in (None, threading.current_thread()):
            self._halting.join()
        return was_up

    def _halt(self, fatal: FatalExitError) -> None:
        """The broker or the controller cannot go on; a start that is not over yet fails. Kafka: `Exit.halt`."""
        with self._state_lock:
            if self.fatal is not None:
                return
            self.fatal = fatal
            if self._is_up:
                self._is_up = False
                # In a thread of its own, since this one holds locks for which others wait.
                self._halting = threading.Thread(target=self._end_by_itself, args=[fatal], name="halt", daemon=True)
                self._halting.start()

    def _end_by_itself(self, fatal: FatalExitError) -> None:
        self._halt_process(fatal)
        self._let_go()

    def run_due_tasks(self) -> None:
        """Let all be done that is due, after the clock was moved, and wait for it. Not in Kafka."""
        for _ in range(_MOST_TURNS):  # after each log that it has cleaned, the cleaner looks at once for the next one
            self._wait_for_due_tasks_of(self._cleaner_scheduler)
            if not self._cleaner_scheduler.is_at_work:
                break
        for scheduler in (self._log_scheduler, self._scheduler, self.sockets.tasks):
            self._wait_for_due_tasks_of(scheduler)

    def _wait_for_due_tasks_of(self, scheduler: KafkaScheduler | LoopTasks) -> None:
        done = threading.Event()
        scheduler.schedule_once("clock-was-moved", done.set)
        while not done.wait(_PUBLISH_MS / 1000) and self.fatal is None:
            pass

    def _handle(self, data: bytearray, channel: KafkaChannel, answer: Callable[[Answer], None]) -> None:
        assert self.broker is not None

        def answered(what: Answer) -> None:
            channel.waiting_request = None
            answer(what if self.fatal is None else NoBytes.CLOSE)

        request = self.broker.receive(data, answered, channel.listener_name, channel.client_address)
        if request is not None:
            channel.client_id = request.header.client_id
            if not request.is_answered:
                channel.waiting_request = request
                if request.is_answered:  # meanwhile, by another thread
                    channel.waiting_request = None
        if self.fatal is None:
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
                if log_dir.exists() and any(path.name not in _OF_A_FIRST_START for path in log_dir.iterdir()):
                    raise KafkaException(f"{log_dir} is not empty and has no {META_PROPERTIES_NAME}: name another one")
                continue
            properties = MetaProperties.read(file)
            if properties.node_id != self.node_id or properties.cluster_id is None:
                raise KafkaException(f"{log_dir} is of node {properties.node_id}, not of node {self.node_id}")
            found[properties.cluster_id] = log_dir
        if len(found) > 1:
            raise KafkaException(f"{' and '.join(map(str, found.values()))} are of different clusters")
        if found and not any((self.log_dirs[0] / CLUSTER_METADATA_DIRECTORY).glob(f"*{LOG_FILE_SUFFIX}")):
            raise KafkaException(
                f"{self.log_dirs[0]} has no {CLUSTER_METADATA_DIRECTORY} with a log, without which no partition would "
                "belong to a topic: it is in the directory that was named first when the cluster was begun"
            )
        return next(iter(found), None) or random_uuid()

    def _require_files_and_directories(self) -> None:
        """Raises IOException for a link, a pipe or a device in a log directory: what it leads to would be changed.

        A directory that cannot be listed has failed, which the broker will report. Kafka follows links.
        """
        for log_dir in self.log_dirs:
            directories = [log_dir]
            with suppress(OSError):
                directories += [path for path in log_dir.iterdir() if is_found_by_java(path.name) and path.is_dir()]
            for directory in directories:
                for what in passed_over(directory):
                    logger.warning("%s: %s", directory, what)
                objections = []
                with suppress(OSError):
                    objections = look_into(directory).objections
                for path, objection in objections:
                    raise IOException(f"{path} {objection}")

    def _lock_log_dirs(self) -> None:
        """Lock the directories that are there, before anything in them is written. Raises KafkaException for one that
        is in use or named twice, OSError for the first one; what is wrong with another one the broker will report.
        """
        present = [log_dir for log_dir in self.log_dirs if log_dir.is_dir()]
        if len(set(map(canonical_path, present))) < len(present):
            raise KafkaException(f"Duplicate log directory found: {', '.join(map(str, self.log_dirs))}")
        for log_dir in present:
            try:
                self._locks.append(lock_log_dir(log_dir))
            except OSError:
                if log_dir == self.log_dirs[0]:
                    raise

    def _require_all_directories(self, records: Sequence[MetadataRecord]) -> None:
        """Raises KafkaException when a log directory of the start before is not among those of this one."""
        registered = (
            record
            for record in reversed(records)
            if isinstance(record, RegisterBrokerRecord) and record.broker_id == self.node_id
        )
        known = set(record.log_dirs) if (record := next(registered, None)) is not None else set()
        files = [log_dir / META_PROPERTIES_NAME for log_dir in self.log_dirs]
        present = {MetaProperties.read(file).directory_id for file in files if file.exists()}
        if missing := sorted(known - present):
            raise KafkaException(
                f"{len(missing)} of the log directories that node {self.node_id} was last started with are not among "
                f"{', '.join(map(str, self.log_dirs))} (directory.id {', '.join(missing)}): name them all, and look "
                "whether their disks are mounted, or what is in them would begin anew, empty"
            )

    def _format(self, cluster_id: str) -> None:
        for log_dir in self.log_dirs:
            MetaProperties(cluster_id, self.node_id, random_uuid()).format(log_dir, self._time.milliseconds())

    def _let_go(self) -> None:
        """Release what is open, and write nothing."""
        self.sockets.shutdown()
        self._scheduler.shutdown()
        self._log_scheduler.shutdown()
        if self.broker is not None:
            self.broker.crash()
        self._cleaner_scheduler.shutdown()
        if self._values is not None:
            self._values.let_go()


def _require_the_same(names: Iterable[str], settings: Mapping[str, str], said: str) -> None:
    for name in settings.keys() & names:
        if str(settings[name]) != said:
            raise ConfigException(f"{name} is {settings[name]} in the settings, and {said} for this node")
