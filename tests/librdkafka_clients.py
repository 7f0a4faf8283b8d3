"""confluent-kafka's clients, each ended with the test that has made it.

One that is forgotten would end when Python next collects garbage, in the midst of some other test; and librdkafka
sometimes waits for ever when it ends a client whose broker is gone (librdkafka's issue 4519).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import confluent_kafka
import confluent_kafka.admin

_open: list["_Noted"] = []


class _Noted:
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.made_by = threading.get_ident()
        _open.append(self)

    def __exit__(self, *of_exception):
        self._forget()
        return super().__exit__(*of_exception)

    def close(self, *arguments, **options):
        """As confluent-kafka's."""
        self._forget()
        return super().close(*arguments, **options)

    def _forget(self) -> None:
        if self in _open:
            _open.remove(self)


class Producer(_Noted, confluent_kafka.Producer):
    """confluent-kafka's."""


class Consumer(_Noted, confluent_kafka.Consumer):
    """confluent-kafka's."""


class AdminClient(_Noted, confluent_kafka.admin.AdminClient):
    """confluent-kafka's."""


@contextmanager
def ending_clients() -> Iterator[None]:
    """As the block of a test: ends what it has made in this thread, and has not ended itself."""
    before = list(_open)
    try:
        yield
    finally:
        _end([each for each in _open if each not in before and each.made_by == threading.get_ident()])


def end_all_clients() -> None:
    """Those, too, that fixtures and other threads have made."""
    _end(list(_open))


def _end(clients: list[_Noted]) -> None:
    for client in clients:
        if isinstance(client, Producer):
            client.purge()  # what it could not send: it would wait for its broker
        with suppress(SystemError):  # confluent-kafka's own fault, for a producer that a broker has refused for good
            client.__exit__(None, None, None)
