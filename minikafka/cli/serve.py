"""The command `minikafka serve`: a broker for real clients, on directories of its own."""

import gc
import logging
import os
import signal
import sys
import threading
from pathlib import Path

import click

from minikafka.broker.broker_server import BrokerServer
from minikafka.network import request_channel
from minikafka.record.kernels.record_columns import compile_behind
from minikafka.server.known_settings import require_known, settings_without_effect
from minikafka.tools.printable import tell
from minikafka.tools.tool_command import ToolCommand

_LOOPBACK = "127.0.0.1"
_BY_OPTIONS = {"node.id": "--node-id", "broker.id": "--node-id", "log.dirs": "--data", "log.dir": "--data"}


@click.command(cls=ToolCommand, failure_exit_code=2)
@click.option(
    "--data", "log_dirs", type=click.Path(path_type=Path), multiple=True, required=True, metavar="DIR",
    help="A log directory; may be given again. An empty one is formatted.",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=9092, show_default=True, help="0: any port that is free."
)
@click.option("--node-id", type=click.IntRange(0), default=1, show_default=True, help="The broker's number.")
@click.option(
    "--forget-missing", "forgets_missing", is_flag=True,
    help="Start without log directories of the last start: their partitions begin anew, empty.",
)  # fmt: skip
@click.option("--config", "configs", multiple=True, metavar="K=V", help="A setting of the broker, by Kafka's name.")
@click.option("--log-requests", is_flag=True, help="Tell each request on stderr: who, what, and how long it took.")
@click.option("--watch", "is_watched", is_flag=True, help="Show connections, partitions and what waits, on stderr.")
def serve(
    log_dirs: tuple[Path, ...],
    port: int,
    node_id: int,
    forgets_missing: bool,
    configs: tuple[str, ...],
    log_requests: bool,
    is_watched: bool,
) -> None:
    """Serve Kafka's clients from this machine: produce, fetch, topics, settings, without groups and transactions.

    When clients can connect, a line on stdout says where; what happens goes to stderr. It listens on this machine
    alone, unless --config listeners=PLAINTEXT://HOST:PORT says otherwise. SIGINT and SIGTERM end it in order; topics,
    settings and records are there at the next start, also after kill -9. The exit code is 0 then, and 2 when it cannot
    start. When the disks of all log directories have failed, or that of the first one, which has the metadata log, it
    ends at once with exit code 1, as Kafka does.
    """
    if is_watched and not sys.stderr.isatty():
        raise click.UsageError("--watch needs a terminal on stderr")
    settings = _settings(configs)
    require_known(settings)
    for name in settings_without_effect(settings):
        tell(f"Warning: {name} has no effect here", err=True)
    settings.setdefault("listeners", f"PLAINTEXT://{_LOOPBACK}:{port}")
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s", level=logging.WARNING)
    if log_requests:
        logging.getLogger(request_channel.__name__).setLevel(logging.DEBUG)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    compile_behind()
    server = BrokerServer(
        log_dirs, settings, node_id=node_id, halt=lambda fatal: ended.set(), forgets_missing=forgets_missing
    )
    server.start()
    gc.freeze()  # what a start has made stays: a look at all of it would hold up requests
    try:
        tell(f"minikafka serves {', '.join(map(str, server.endpoints))}")
        sys.stdout.flush()
        if is_watched:
            from minikafka.cli.broker_view import watch

            watch(server, ended)
        else:
            ended.wait()
    finally:
        if server.fatal is None:
            server.stop()
    if server.fatal is not None:
        tell(str(server.fatal), err=True)
        os._exit(1)  # waits for no thread: each may be in the midst of a disk that does not answer


def _settings(configs: tuple[str, ...]) -> dict[str, str]:
    settings = {}
    for each in configs:
        name, equals, value = each.partition("=")
        if not name or not equals:
            raise click.UsageError(f"--config {each}: K=V is expected")
        if name in _BY_OPTIONS:
            raise click.UsageError(f"--config {each}: {_BY_OPTIONS[name]} says that")
        settings[name] = value
    return settings
