"""A query whose machine refuses to read, once, says so: it gives no other rows."""

import errno
import os
from pathlib import Path

import pytest

from minikafka.record.files.file_channel import FileChannel
from tests.spark.drawn_log import NOW, draw_log
from tests.spark.rows import rows

OPTIONS = {
    "all": {},
    "read_committed": {"isolation__level": "read_committed", "bounds": "log_end"},
    "up to a time": {"endingTimestamp": str(NOW + 900)},
    "from a time": {"startingTimestamp": str(NOW + 900), "startingOffsetsByTimestampStrategy": "latest"},
    "one copy": {"copies": "furthest"},
}


class Refusals:
    """Counts what is asked of the machine about files below `home`, and refuses one of it: that of the number `at`."""

    def __init__(self, home: Path, monkeypatch):
        self.home, self.asked, self.at = str(home), 0, 0
        monkeypatch.setattr(os, "open", self._counted(os.open, lambda path: os.fspath(path).startswith(self.home)))
        for name in ("read", "read_into"):
            monkeypatch.setattr(FileChannel, name, self._counted(getattr(FileChannel, name), lambda channel: True))

    def _counted(self, ask, concerns):
        def counted(first, *arguments, **options):
            self.asked += concerns(first)
            if concerns(first) and self.asked == self.at:
                raise OSError(errno.EIO, os.strerror(errno.EIO), self.home)
            return ask(first, *arguments, **options)

        return counted

    def rows(self, at: int, **options: str) -> list[dict]:
        """The rows of a query of which the machine refuses the look of this number, 0 for none."""
        self.asked, self.at = 0, at
        return rows(self.home, **options)


@pytest.mark.parametrize("asked", OPTIONS)
def test_a_refused_look_ends_the_query_or_changes_nothing(tmp_path, monkeypatch, asked):
    draw_log(tmp_path, 5, batches=24)
    refusals = Refusals(tmp_path, monkeypatch)
    sound = refusals.rows(0, **OPTIONS[asked])
    looks = refusals.asked
    assert sound and looks > 20
    ended = 0
    for at in range(1, looks + 1):
        try:
            assert refusals.rows(at, **OPTIONS[asked]) == sound, at
        except (OSError, RuntimeError) as error:
            assert os.strerror(errno.EIO) in str(error), at
            ended += 1
    assert ended
