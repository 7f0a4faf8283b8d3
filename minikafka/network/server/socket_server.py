"""The loop of a broker's sockets: one thread that accepts, reads, has requests handled, and sends."""

import contextlib
import logging
import os
import selectors
import socket
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from minikafka.common.endpoint import Endpoint
from minikafka.common.errors import IllegalArgumentException, IllegalStateException, KafkaException
from minikafka.common.held_descriptor import HeldDescriptor
from minikafka.common.time import Time
from minikafka.network.request import Answer, NoBytes
from minikafka.network.server.connection_quotas import ConnectionQuotas, TooManyConnectionsException
from minikafka.network.server.kafka_channel import InvalidReceiveException, KafkaChannel
from minikafka.network.server.loop_tasks import LoopTasks
from minikafka.network.server.memory_pool import MemoryPool
from minikafka.network.server.socket_server_config import SocketServerConfig

logger = logging.getLogger(__name__)

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_POLL_TIMEOUT_MS = 300
_LARGEST_PORT = 65535
_SCRATCH_BYTES = 1 << 16
_MOST_ACCEPTED = 20
"""How many connections are accepted in a round. Kafka: `Processor.ConnectionQueueSize`."""

_WITHOUT_DESCRIPTORS_MS = 1000
"""How long nobody is accepted when the process has no file descriptor left."""

Handle = Callable[[bytearray, KafkaChannel, Callable[[Answer], None]], object]
"""Takes a request's bytes, the connection on which it came, and where its answer goes: called once, now or later, in
any thread.
"""


@dataclass(eq=False)
class _Acceptor:
    """A listener with its open socket. `rests_until_ms`: nobody is accepted before. Kafka: `Acceptor`."""

    endpoint: Endpoint
    socket: socket.socket
    is_watched: bool = False
    rests_until_ms: int = 0


class SocketServer:
    """Takes connections and their requests, and sends the answers.

    - Each connection has one request in work; until its answer has gone out, or there is none to send, nothing more is
      read of it. So answers come in the order of the requests.
    - A request whose size is negative or above `socket.request.max.bytes`, and one that `handle` refuses, closes its
      connection and no other.
    - All happens in one thread, `handle` too. An answer from another thread wakes the loop.

    Simpler than Kafka: there the acceptors, the processors and the handlers of requests are threads of their own; here
    they take turns. No TLS, no SASL, no throttling, no metrics. Kafka: `SocketServer`, `Acceptor`, `Processor`.
    """

    def __init__(self, config: SocketServerConfig, time: Time, handle: Handle, *, task_time: Time | None = None):
        """A server that has opened no port. `handle` is called for each request, see `Handle`.

        `task_time`: by which `tasks` are due, `time` if None.
        """
        get = config.get_int
        self._config = config
        self._time = time
        self._handle = handle
        self._max_request_size = get("socket.request.max.bytes")
        self._send_buffer_size = get("socket.send.buffer.bytes")
        self._max_idle_ms = get("connections.max.idle.ms")
        self.connection_quotas = ConnectionQuotas(config)
        self._memory_pool = MemoryPool(get("queued.max.request.bytes"))
        self._acceptors: list[_Acceptor] = []
        self._channels: OrderedDict[str, KafkaChannel] = OrderedDict()  # the one that was idle longest comes first
        self._next_connection_index = 0
        self._connections_changed = True  # how many there are, since `_watch_acceptors` looked
        self._now_ms = time.hi_res_clock_ms()  # when this round of the loop has begun to work
        self._next_idle_close_check_ms = 0
        self._selector = selectors.DefaultSelector()
        self._scratch = memoryview(bytearray(_SCRATCH_BYTES))
        self._ready: deque[KafkaChannel] = deque()  # channels that have read more than their last request
        self._without_memory: deque[KafkaChannel] = deque()  # channels whose request waits for the pool
        self._responses: deque[tuple[KafkaChannel, Answer]] = deque()  # from other threads
        self._woken, waker = os.pipe()
        self._waker: HeldDescriptor | None = HeldDescriptor(waker)
        self.tasks = LoopTasks(task_time or time, self._wake_up_from_elsewhere)
        self._thread_id: int | None = None
        self._thread: threading.Thread | None = None
        self._is_running = False
        self._should_run = True
        for end in (waker, self._woken):
            os.set_blocking(end, False)
        self._selector.register(self._woken, _READ, None)

    @property
    def endpoints(self) -> list[Endpoint]:
        """Where this server listens, with the ports that it has got. Kafka: `SocketServer.boundPort`."""
        return [acceptor.endpoint for acceptor in self._acceptors]

    @property
    def channels(self) -> list[KafkaChannel]:
        """The open connections, the one that was idle longest in front."""
        return list(self._channels.values())

    def open(self) -> None:
        """Open the ports: from now on connections wait to be accepted.

        Raises KafkaException for one that cannot be opened, IllegalArgumentException for a number that no port has;
        then none is. Kafka: `Acceptor.openServerSocket`.
        """
        try:
            for endpoint in self._config.endpoints:
                opened = self._open_server_socket(endpoint)
                port = opened.getsockname()[1]
                self._acceptors.append(_Acceptor(Endpoint(endpoint.listener_name, endpoint.host, port), opened))
        except BaseException:
            self._close_acceptors()
            raise

    def start(self) -> None:
        """Run the loop in a thread of its own. Kafka: `SocketServer.enableRequestProcessing`."""
        self._thread = threading.Thread(target=self.run, name="kafka-network-thread", daemon=True)
        self._thread.start()

    def run(self) -> None:
        """Run the loop in this thread, until `shutdown`. Raises IllegalStateException when it is over already."""
        if not self._should_run:
            raise IllegalStateException("Can't enable request processing: SocketServer is stopped.")
        self._thread_id = threading.get_ident()
        self._is_running = True
        try:
            while self._should_run:
                try:
                    self._poll()
                except Exception:  # the other connections go on
                    logger.exception("Uncaught exception in the loop of the sockets")
        finally:
            self._close_all()

    def turn(self) -> None:
        """Go round the loop once in this thread, without waiting: for whoever moves it by hand. Not in Kafka."""
        self._thread_id = threading.get_ident()
        self.wake_up()
        self._poll()

    def shutdown(self) -> None:
        """Close the ports and all connections; requests in work are not answered. Kafka: `SocketServer.shutdown`."""
        self._should_run = False
        if self._thread is None and not self._is_running:
            self._close_all()
            return
        self.wake_up()
        if self._thread is not None and self._thread_id != threading.get_ident():
            self._thread.join()

    def wake_up(self) -> None:
        """Let the loop go round once more, from any thread. Kafka: `Selector.wakeup`."""
        if (waker := self._waker) is not None:  # else it is over
            with contextlib.suppress(OSError):  # it is awake already, or just over
                os.write(waker.fd, b"\0")

    def _wake_up_from_elsewhere(self) -> None:
        if threading.get_ident() != self._thread_id:  # else the loop is not waiting now
            self.wake_up()

    # One round of the loop

    def _poll(self) -> None:
        """Kafka: `Processor.run`, `Processor.processNewResponses`, `Acceptor.run`."""
        # 1. Listeners are watched as long as there is room for a connection, requests read while there is memory.
        if self._connections_changed:
            self._watch_acceptors()
        while self._without_memory and not self._memory_pool.is_out_of_memory:
            self._ready.append(self._without_memory.popleft())
        # 2. Wait, but not while something is ready.
        timeout_ms = 0 if self._ready or self._responses else self.tasks.wait_ms(_POLL_TIMEOUT_MS)
        events = self._selector.select(timeout_ms / 1000)
        self._now_ms = self._time.hi_res_clock_ms()
        # 3. Answers that other threads have given.
        for _ in range(len(self._responses)):
            self._respond(*self._responses.popleft())
        # 4. Requests whose bytes were read together with an earlier one, or that had to wait for memory.
        for _ in range(len(self._ready)):
            self._read(self._ready.popleft())
        # 5. What the system tells.
        for (_, _, _, who), event in events:
            if who is None:
                self._drain_wake_ups()
            elif isinstance(who, _Acceptor):
                self._accept_new_connections(who)
            else:
                if event & _WRITE:
                    self._write(who)
                if event & _READ:
                    self._read(who)
        # 6. Requests that have waited long enough, say.
        self.tasks.run_due()
        # 7. Who has to go.
        if self._connections_changed:
            self._close_excess_connections()
        if self._now_ms >= self._next_idle_close_check_ms:
            self._close_idle_connections()

    def _watch_acceptors(self) -> None:
        self._connections_changed = any(each.rests_until_ms > self._now_ms for each in self._acceptors)  # look again
        for acceptor in self._acceptors:
            has_room = self.connection_quotas.connection_slot_available(acceptor.endpoint.listener_name)
            is_watched = has_room and acceptor.rests_until_ms <= self._now_ms
            if is_watched == acceptor.is_watched:
                continue
            if is_watched:
                self._selector.register(acceptor.socket, _READ, acceptor)
            else:
                self._selector.unregister(acceptor.socket)
            acceptor.is_watched = is_watched

    def _accept_new_connections(self, acceptor: _Acceptor) -> None:
        """Accept who waits, as far as there is room.

        Where many come at once the others would be turned away by the system, and try again after a second.
        Kafka: `Acceptor.acceptNewConnections`, which has a thread of its own.
        """
        name = acceptor.endpoint.listener_name
        for _ in range(_MOST_ACCEPTED):
            if not self.connection_quotas.connection_slot_available(name):
                return
            try:
                connection, address = acceptor.socket.accept()
            except (BlockingIOError, ConnectionAbortedError):  # nobody waits, or the client has gone again
                return
            except OSError as error:
                logger.error("Error while accepting connection: %s", error)
                acceptor.rests_until_ms = self._now_ms + _WITHOUT_DESCRIPTORS_MS
                self._connections_changed = True
                return
            self._accept(acceptor, connection, address)

    def _accept(self, acceptor: _Acceptor, connection: socket.socket, address: tuple[str, int]) -> None:
        """Kafka: `Acceptor.accept`."""
        name, host = acceptor.endpoint.listener_name, address[0]
        try:
            self.connection_quotas.inc(name, host)
            self._configure(connection)
        except TooManyConnectionsException as error:
            logger.info(
                "Rejected connection from %s, address already has the configured maximum of %d connections.",
                *(error.address, error.count),
            )
            connection.close()
            self.connection_quotas.dec(name, host)
            return
        except OSError as error:
            logger.error("Error while accepting connection: %s", error)
            connection.close()
            self.connection_quotas.dec(name, host)
            return
        self.take(connection, self._connection_id(connection, address), name, host)

    def take(self, connection: socket.socket, channel_id: str, listener_name: str, client_address: str) -> KafkaChannel:
        """Serve a connection that is open, does not block, and is counted by `connection_quotas` already.

        `channel_id`: a name that no other connection has. Kafka: `Processor.configureNewConnections`.
        """
        channel = KafkaChannel(
            channel_id, connection, listener_name, client_address, self._max_request_size, self._memory_pool
        )
        self._channels[channel_id] = channel
        self._connections_changed = True
        channel.last_active_ms = self._time.hi_res_clock_ms()
        self._watch(channel)
        return channel

    def _read(self, channel: KafkaChannel) -> None:
        """Read of a connection, and have its request handled if it is whole.

        Kafka: `Selector.attemptRead`, `Processor.processCompletedReceives`.
        """
        if not channel.is_open:
            return
        # 1. While a request is in work, its connection is not read.
        if channel.is_muted:  # it is watched again once the answer has gone out
            self._watch(channel)
            return
        # 2. Read what has come; an invalid size closes the connection.
        self._is_active(channel)
        try:
            request = channel.receive(self._scratch)
        except (EOFError, OSError, InvalidReceiveException) as error:
            logger.info("Closing the connection %s: %s", channel, error)
            self._close(channel)
            return
        if channel.waits_for_memory:
            self._without_memory.append(channel)
        # 3. Wait for more, until the request is whole.
        if request is None:
            self._watch(channel)
            return
        # 4. Hand it over: it is answered now or later. If it cannot be parsed, close the connection.
        try:
            self._handle(request, channel, partial(self._answer, channel))
        except Exception:
            logger.exception("Exception while processing request from %s", channel)
            self._close(channel)
        finally:
            del request
            channel.release_memory()

    def _answer(self, channel: KafkaChannel, answer: Answer) -> None:
        if threading.get_ident() == self._thread_id:
            self._respond(channel, answer)
        else:
            self._responses.append((channel, answer))
            self.wake_up()

    def _respond(self, channel: KafkaChannel, answer: Answer) -> None:
        if not channel.is_open:
            logger.debug("Attempting to send response via a connection that is closed: %s", channel)
        elif not isinstance(answer, NoBytes):
            self._is_active(channel)
            self._go_on_sending(channel, partial(channel.send, answer.pieces))
        elif answer is NoBytes.NO_RESPONSE:
            self._unmute(channel)
        else:
            self._close(channel)

    def _write(self, channel: KafkaChannel) -> None:
        if channel.is_open and channel.is_sending:
            self._is_active(channel)
            self._go_on_sending(channel, channel.write)

    def _go_on_sending(self, channel: KafkaChannel, send: Callable[[], bool]) -> None:
        try:
            is_sent = send()
        except (OSError, KafkaException) as error:
            logger.info("Closing the connection %s: %s", channel, error)
            self._close(channel)
            return
        if is_sent:
            self._unmute(channel)
        else:
            self._watch(channel)

    def _unmute(self, channel: KafkaChannel) -> None:
        """Kafka: `Processor.tryUnmuteChannel`."""
        # 1. The answer has gone out, or there is none: read the connection again.
        channel.unmute()
        self._watch(channel)
        # 2. A request that was read ahead is next.
        if channel.has_bytes_ahead:
            self._ready.append(channel)

    def _watch(self, channel: KafkaChannel) -> None:
        """Tell the selector what to wait for on a connection.

        A muted one that sends nothing is not watched at all: else the end of a connection would be told for ever. It is
        unwatched only when the client sends before it is answered, which few clients do.
        """
        reads = not channel.is_muted and not channel.waits_for_memory
        wanted = _READ * reads | _WRITE * channel.is_sending
        watched, channel.watched_events = channel.watched_events, wanted
        if watched == wanted:
            return
        if not watched:
            self._selector.register(channel.socket, wanted, channel)
        elif not wanted:
            self._selector.unregister(channel.socket)
        else:
            self._selector.modify(channel.socket, wanted, channel)

    def _drain_wake_ups(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._woken, 1024):
                pass

    def _is_active(self, channel: KafkaChannel) -> None:
        self._channels.move_to_end(channel.id)
        channel.last_active_ms = self._now_ms

    def _close_excess_connections(self) -> None:
        """Kafka: `Processor.closeExcessConnections`, `Selector.lowestPriorityChannel`."""
        quotas = self.connection_quotas
        while quotas.has_excess:
            found = (each for each in self._channels.values() if quotas.max_connections_exceeded(each.listener_name))
            if (excess := next(found, None)) is None:
                return
            self._close(excess)

    def _close_idle_connections(self) -> None:
        """Kafka: `Selector.maybeCloseOldestConnection`."""
        if self._max_idle_ms < 0:
            return
        while self._channels:
            channel = next(iter(self._channels.values()))
            idle_until_ms = channel.last_active_ms + self._max_idle_ms
            if self._now_ms < idle_until_ms:
                self._next_idle_close_check_ms = idle_until_ms
                return
            logger.debug("About to close the idle connection from %s", channel)
            self._close(channel)

    def _close(self, channel: KafkaChannel) -> None:
        """Kafka: `Processor.close`."""
        if self._channels.pop(channel.id, None) is None:
            return
        self._connections_changed = True
        if channel.watched_events:
            self._selector.unregister(channel.socket)
        channel.close()
        self.connection_quotas.dec(channel.listener_name, channel.client_address)

    def _close_acceptors(self) -> None:
        for acceptor in self._acceptors:
            acceptor.socket.close()
        self._acceptors.clear()

    def _close_all(self) -> None:
        if self._waker is None:  # that was done before
            return
        for channel in self.channels:
            self._close(channel)
        self._close_acceptors()
        self.tasks.shutdown()
        self._selector.close()
        self._waker = None  # `wake_up` may be at it, or come late
        os.close(self._woken)

    def _open_server_socket(self, endpoint: Endpoint) -> socket.socket:
        """Kafka: `ServerSocketFactory.openServerSocket`."""
        if not 0 <= endpoint.port <= _LARGEST_PORT:
            raise IllegalArgumentException(f"port out of range:{endpoint.port}")
        receive_buffer_size = self._config.get_int("socket.receive.buffer.bytes")
        backlog = self._config.get_int("socket.listen.backlog.size")
        opened = None
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                *(endpoint.host or None, endpoint.port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            opened = socket.socket(family, kind, protocol)
            opened.setblocking(False)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if receive_buffer_size != -1:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_size)
            opened.bind(address)
            opened.listen(backlog)
        except (OSError, OverflowError) as error:
            if opened is not None:
                opened.close()
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            raise KafkaException(
                f"Socket server failed to bind to {endpoint.host or '0.0.0.0'}:{endpoint.port}: {reason}."
            ) from error
        return opened

    def _configure(self, connection: socket.socket) -> None:
        """Kafka: `Acceptor.configureAcceptedSocketChannel`."""
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self._send_buffer_size != -1:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_size)

    def _connection_id(self, connection: socket.socket, address: tuple[str, int]) -> str:
        """Kafka: `ServerConnectionId.generateConnectionId`."""
        local_host, local_port = connection.getsockname()[:2]
        index = self._next_connection_index
        self._next_connection_index += 1
        return f"{local_host}:{local_port}-{address[0]}:{address[1]}-0-{index}"
