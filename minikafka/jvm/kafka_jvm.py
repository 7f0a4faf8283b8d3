"""A JVM with Apache Kafka's classes, driven from Python: what the third witness runs in."""

import atexit
import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

_JAVA_OPTIONS = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dfile.encoding=UTF-8"]
_starting_callbacks = threading.Lock()


class KafkaUnavailableError(Exception):
    """Kafka's jars, Java or py4j are missing, so the third witness cannot speak; the message says what to do."""


class KafkaJvm:
    """A py4j gateway to a JVM that has Kafka's classes on its class path.

    - `find_class` gives the classes: `kafka.find_class("org.apache.kafka.common.Uuid")`.
    - Java may call Python objects (`Time`, `Scheduler`) back; neither those threads nor the JVM keep Python alive.
    - Nothing that Java prints reaches this process's own output.
    - Threads may share it: what is made on demand is made once (`made_once`).

    `KafkaJvm.start()` starts a small JVM of its own in 0.3 s; `KafkaJvm(gateway)` uses one that is already running,
    such as PySpark's (`spark._sc._gateway`), and never ends it.
    """

    def __init__(self, gateway: Any):
        self.gateway = gateway
        self.jvm = gateway.jvm
        self._owned = False
        self._classes: dict[str, Any] = {}
        self._made: dict[str, Any] = {}
        self._making = threading.RLock()
        _start_callbacks(gateway)

    @classmethod
    def start(cls, classpath: list[str | Path] | None = None, java: str | None = None) -> "KafkaJvm":
        """Start a JVM on `classpath` (default: Kafka's jars, fetched through Spark's Ivy when missing).

        It ends with `close`, at the latest with this process. Raises KafkaUnavailableError.
        """
        try:
            from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway, launch_gateway
        except ImportError as missing:
            raise KafkaUnavailableError("Real Kafka is driven through py4j: pip install 'minikafka[lab]'.") from missing
        port, secret, process = launch_gateway(
            classpath=os.pathsep.join(map(str, classpath or kafka_jars())),
            javaopts=_JAVA_OPTIONS,
            java_path=java or java_path(),
            die_on_exit=True,
            enable_auth=True,
            create_new_process_group=True,
            return_proc=True,
        )
        parameters = GatewayParameters(port=port, auth_token=secret, auto_convert=True)
        callbacks = CallbackServerParameters(
            eager_load=False
        )  # py4j's own main class sends no token when it calls back
        kafka = cls(
            JavaGateway(gateway_parameters=parameters, callback_server_parameters=callbacks, java_process=process)
        )
        kafka._owned = True
        atexit.register(kafka.close)
        return kafka

    def close(self) -> None:
        """End the JVM if `start` started it. It must not be used afterwards."""
        if not self._owned:
            return
        self._owned = False
        atexit.unregister(self.close)
        process = self.gateway.java_process
        process.kill()
        process.wait()
        self.gateway.shutdown()
        process.stdin.close()

    def find_class(self, name: str) -> Any:
        """The Java class with this full name, looked up once and by its whole name: for `jvm.a.b.C`, Java would also
        look for classes `a` and `a.b`.
        """
        if name not in self._classes:
            self._classes[name] = getattr(self.jvm, name)
        return self._classes[name]

    def log_class(self, name: str) -> Any:
        """A class of `org.apache.kafka.storage.internals.log`."""
        return self.find_class(f"org.apache.kafka.storage.internals.log.{name}")

    def constant(self, class_name: str, name: str) -> Any:
        """A static field or enum constant, looked up once."""
        key = f"{class_name}#{name}"
        if key not in self._classes:
            self._classes[key] = getattr(self.find_class(class_name), name)
        return self._classes[key]

    def made_once(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` makes: made for the first who asks for `name`, and kept with the JVM.

        Other threads wait for it. Two would each get objects of their own, and a class that is loaded twice is two.
        """
        with self._making:
            if name not in self._made:
                self._made[name] = make()
            return self._made[name]

    @property
    def executor(self) -> Any:
        """A Java thread pool that makes true `ScheduledFuture`s; it forgets cancelled ones at once."""
        return self.made_once("executor", self._new_executor)

    @property
    def broker_topic_stats(self) -> Any:
        """The metrics that all of Kafka's logs count into."""
        stats = self.find_class("org.apache.kafka.storage.log.metrics.BrokerTopicStats")
        return self.made_once("broker_topic_stats", lambda: stats(False))

    @property
    def no_caching(self) -> Any:
        """A `RequestLocal` that keeps no buffers for reuse."""
        return self.made_once("no_caching", self.find_class("org.apache.kafka.server.common.RequestLocal").noCaching)

    def file(self, path: Path) -> Any:
        """A `java.io.File`."""
        return self.find_class("java.io.File")(str(path))

    def properties(self, settings: Mapping[str, Any]) -> Any:
        """A `java.util.HashMap` of strings from a mapping of settings, with true and false as Kafka writes them."""
        properties = self.find_class("java.util.HashMap")()
        for name, value in settings.items():
            properties.put(name, str(value).lower() if isinstance(value, bool) else str(value))
        return properties

    def optional(self, value: Any) -> Any:
        """A `java.util.Optional` of an object; empty for None."""
        optional = self.find_class("java.util.Optional")
        return optional.empty() if value is None else optional.of(value)

    def optional_long(self, number: int | None) -> Any:
        """An `Optional<Long>`: py4j would make small numbers Integers."""
        stream = self.find_class("java.util.stream.LongStream")
        return self.optional(None) if number is None else stream.of(number).boxed().findFirst()

    def records(self, data: bytes) -> Any:
        """Kafka's `MemoryRecords` on a copy of `data`."""
        buffer = self.find_class("java.nio.ByteBuffer").wrap(bytearray(data))
        return self.find_class("org.apache.kafka.common.record.internal.MemoryRecords").readableRecords(buffer)

    def _new_executor(self) -> Any:
        executor = self.find_class("java.util.concurrent.ScheduledThreadPoolExecutor")(0)
        executor.setRemoveOnCancelPolicy(True)
        return executor


def kafka_jars(part: str = "broker") -> list[str]:
    """The jars of Kafka's storage layer with all that they need ("storage"), or of broker and tools as well ("broker").

    $MINIKAFKA_KAFKA_JARS may name a directory of jars to use instead. Raises KafkaUnavailableError.
    """
    if directory := os.environ.get("MINIKAFKA_KAFKA_JARS"):
        jars = sorted(map(str, Path(directory).glob("*.jar")))
        if not jars:
            raise KafkaUnavailableError(f"MINIKAFKA_KAFKA_JARS names {directory}, which holds no jar.")
        return jars
    from minikafka.jvm.kafka_jars import KafkaJarsUnavailableError, kafka_classpath

    try:
        return kafka_classpath(part)
    except KafkaJarsUnavailableError as unavailable:
        raise KafkaUnavailableError(str(unavailable)) from unavailable


def java_path() -> str:
    """The path of `java`. Raises KafkaUnavailableError."""
    from minikafka.jvm.java_home import JavaNotFoundError, java_command

    try:
        return java_command()
    except JavaNotFoundError as missing:
        raise KafkaUnavailableError(str(missing)) from missing


def _start_callbacks(gateway: Any) -> None:
    """Let Java call Python back on daemon threads, on a free port. Does nothing if the gateway already does so."""
    with _starting_callbacks:
        if gateway.__dict__.get("_callback_server") is None:
            _start_callback_server(gateway)


def _start_callback_server(gateway: Any) -> None:
    from py4j.java_gateway import JavaObject

    parameters = gateway.callback_server_parameters
    parameters.port, parameters.daemonize, parameters.daemonize_connections = 0, True, True
    server = gateway._callback_server = gateway._create_callback_server(parameters)
    server.run = partial(_accept_calls, server)
    server.start()
    port = server.get_listening_port()
    server.port = port
    gateway._python_proxy_port = port
    java_server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    java_server.resetCallbackClient(java_server.getCallbackClient().getAddress(), port)


def _accept_calls(server: Any) -> None:
    """Give each connection that Java opens for its calls a thread of its own, until the server is shut down.

    py4j's own loop waits in `select`, which refuses file descriptors above 1023, as a process has them that holds many
    logs open. That ended the loop and left its socket open: Java connected and waited for an answer for ever. Here the
    socket is closed whenever the loop ends, and Java's call fails instead.
    """
    with server.server_socket as listening:
        listening.listen()
        listening.settimeout(server.callback_server_parameters.accept_timeout)  # s; then a shutdown is noticed
        while not server.is_shutdown:
            try:
                connected, _ = listening.accept()
            except OSError as error:
                if server.is_shutdown or isinstance(error, TimeoutError):
                    continue
                raise
            connection = server._create_connection(connected, connected.makefile("rb"))
            with server.lock:
                server.connections.add(connection)
            connection.start()
