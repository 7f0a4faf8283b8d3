"""A signal that ends a tool leaves nothing behind in the directory of temporary files."""

import os
import shutil
import signal
import tempfile

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.log.log import Log
from tests.golden.places import MIXED


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", [("recover", "--dry-run"), ("verify",)], ids=" ".join)
def test_a_signal_leaves_no_scratch_directory_behind(tmp_path, monkeypatch, command, number):
    shutil.copytree(MIXED, tmp_path / "mixed-0")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    def interrupted(*_arguments, **_options):
        assert len(list(scratch.iterdir())) == 1
        os.kill(os.getpid(), number)
        signal.pause()

    monkeypatch.setattr(Log, "create", interrupted)
    # The second is ignored under `nohup`.
    before = {each: signal.signal(each, signal.SIG_DFL) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        result = CliRunner().invoke(main, [*command, str(tmp_path / "mixed-0")])
        assert (result.exit_code, result.output) == (128 + number, "")
        assert not list(scratch.iterdir())
        assert [signal.getsignal(each) for each in before] == [signal.SIG_DFL, signal.SIG_DFL]
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
