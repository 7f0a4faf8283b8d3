"""What `minikafka serve --watch` shows on the terminal: connections, partitions, and requests that wait."""

import logging
import sys
import threading
from collections.abc import Iterable, Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from minikafka.broker.broker_server import BrokerServer
from minikafka.network.server.kafka_channel import KafkaChannel
from minikafka.tools.printable import printable

_REFRESH_S = 0.25
_FRAME_LINES = 11  # of the view, besides its rows


def watch(server: BrokerServer, ended: threading.Event) -> None:
    """Show the broker on stderr, which is a terminal, four times a second until `ended` is set; then clear the view.

    What is logged meanwhile stands above the view.
    """
    console = Console(file=sys.stderr)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(sys.stderr)  # by now one that moves the view down
        while True:
            live.update(view_of(server, max((console.height - _FRAME_LINES) // 3, 1)), refresh=True)
            if ended.wait(_REFRESH_S):
                return


def view_of(server: BrokerServer, most_rows: int) -> Group:
    """The broker at this moment; of each kind at most so many rows."""
    broker = server.broker
    assert broker is not None
    now_ms = broker.time.milliseconds()
    logs = sorted(broker.log_manager.all_logs, key=lambda log: log.topic_partition)
    waiting = server.waiting_requests
    head = Text.assemble(
        ("minikafka serves ", "bold"),
        ", ".join(map(str, server.endpoints)),
        f" · {len(broker.fetch_manager.cache)} fetch sessions",
    )
    return Group(
        head,
        _table(
            ("connections", "client", "state"),
            [(channel.id, channel.client_id, _state(channel)) for channel in server.sockets.channels],
            most_rows,
        ),
        _table(
            ("partitions", "log start", "high watermark", "end", "bytes"),
            [
                (
                    str(log.topic_partition),
                    *(
                        f"{number:,}"
                        for number in (log.log_start_offset, log.high_watermark, log.log_end_offset, log.size)
                    ),
                )
                for log in logs
            ],
            most_rows,
        ),
        _table(
            ("requests that wait", "client", "for", "since"),
            [
                (
                    f"{request.header.api_key.name} v{request.header.api_version}",
                    request.header.client_id,
                    request.waits_for,
                    f"{now_ms - request.arrived_ms:,} ms",
                )
                for request in waiting
            ],
            most_rows,
        ),
    )


def _state(channel: KafkaChannel) -> str:
    if channel.is_sending:
        return "its answer goes out"
    return "waits for its answer" if channel.is_muted else "may send"


def _table(heads: Sequence[str], rows: Sequence[Iterable[str]], most_rows: int) -> Table:
    """A table under its number of rows; those that have no place are counted."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for number, head in enumerate(heads):
        table.add_column(f"{len(rows)} {head}" if number == 0 else head, no_wrap=True)
    for row in rows[:most_rows]:
        table.add_row(*(Text(printable(cell)) for cell in row))
    if len(rows) > most_rows:
        table.add_row(Text(f"… and {len(rows) - most_rows} more", style="dim"))
    return table
