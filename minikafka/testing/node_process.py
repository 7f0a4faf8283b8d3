"""The broker that a test works with, in a process of its own."""

import pickle
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from minikafka.common.errors import IllegalArgumentException, IllegalStateException
from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys
from minikafka.testing.injected_answers import Injected
from minikafka.testing.node import Kept, KeyAndValue, LocalNode

_PATIENCE_S = 60
_ENDED = "The broker's process has ended"
_RUN = f"import sys; sys.path[:] = sys.argv[2:]; from {__name__} import run; run(int(sys.argv[1]))"


class NodeProcess:
    """A `LocalNode` in a process of its own, which does what it is asked over a socket.

    The process ends with `stop` and `kill`, and when this process is gone. What the node raises is raised here. A whole
    response cannot be injected, since its class cannot be sent: an error can.

    Any thread may ask. A thread of its own sends one question after the other and waits for its answer: so nobody gets
    another's answer, and an interrupt, which comes to the main thread, never falls between the two.
    """

    def __init__(self, directory: Path, settings: Mapping[str, str], clock_ms: int | None):
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                # It imports from where this process does: without -P it would look into the working directory first.
                [sys.executable, "-P", "-c", _RUN, str(theirs.fileno()), *sys.path],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C ends this process, and the other one then stops in order
            )
        self._connection: Connection[Any, Any] = Connection(ours.detach())
        self._connection.send((directory, dict(settings), clock_ms))
        self._questions = ThreadPoolExecutor(1, "questions-to-the-broker")

    def start(self) -> tuple[str, int]:
        try:
            host, port = self._ask("start")
        except BaseException:
            self._end()
            raise
        return host, port

    def stop(self) -> None:
        try:
            self._ask("stop")
        finally:
            self._end()

    def kill(self) -> None:
        self._process.kill()
        self._end()

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        self._ask("create_topic", name, partitions, dict(settings))

    def has_topic(self, name: str) -> bool:
        return bool(self._ask("has_topic", name))

    def append(self, topic: str, partition: int, records: Sequence[KeyAndValue], timestamp_ms: int | None) -> int:
        return int(self._ask("append", topic, partition, list(records), timestamp_ms))

    def records(self, topic: str, partition: int) -> list[Kept]:
        return list(self._ask("records", topic, partition))

    def answer(self, api: ApiKeys, what: Injected, times: int | None) -> None:
        if isinstance(what, Message):
            raise IllegalArgumentException(
                "A broker in a process of its own can be given errors to answer with, and no response: use one in this "
                "process"
            )
        self._ask("answer", api, what, times)

    def delay(self, api: ApiKeys, ms: int, times: int | None) -> None:
        self._ask("delay", api, ms, times)

    def clear_injected(self) -> None:
        self._ask("clear_injected")

    def advance(self, ms: int) -> None:
        self._ask("advance", ms)

    def now_ms(self) -> int:
        return int(self._ask("now_ms"))

    def _ask(self, method: str, *arguments: object) -> Any:
        """What the node's method returns; raises what it raises, and IllegalStateException when its process is gone."""
        try:
            question = self._questions.submit(self._answer_to, method, *arguments)
        except RuntimeError:  # another thread has stopped or killed the broker
            raise IllegalStateException(_ENDED) from None
        return question.result()

    def _answer_to(self, method: str, *arguments: object) -> Any:
        try:
            self._connection.send((method, arguments))
            raised, result = self._connection.recv()
        except (EOFError, OSError):
            raise IllegalStateException(_ENDED) from None
        if raised:
            raise result
        return result

    def _end(self) -> None:
        self._questions.shutdown()
        self._connection.close()
        self._process.wait(_PATIENCE_S)


def run(file_descriptor: int) -> None:
    """Do what the process at the other end asks, until it has gone: the whole work of the node's own process."""
    connection: Connection[Any, Any] = Connection(file_descriptor)
    made_with = connection.recv()
    node: LocalNode | None = None
    is_running = False
    try:
        while True:
            question = connection.recv_bytes()
            try:
                method, arguments = pickle.loads(
                    question
                )  # which fails for an object of a class that is not known here
                node = node or LocalNode(*made_with)
                result = getattr(node, method)(*arguments)
            except Exception as error:
                connection.send((True, error))
            else:
                is_running = method != "stop"
                connection.send((False, result))
    except (EOFError, OSError):
        if node is not None and is_running:
            node.stop()
