"""Scratch directories go, whenever the work in them ends."""

import shutil
import tempfile

import pytest

from minikafka.tools.scratch_directory import scratch_directory


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, OSError])
def test_it_goes_even_if_a_signal_interrupts_its_removal(tmp_path, monkeypatch, interruption):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rmtree = shutil.rmtree

    def interrupted_once(*arguments, **keywords):
        monkeypatch.setattr(shutil, "rmtree", rmtree)
        raise interruption

    monkeypatch.setattr(shutil, "rmtree", interrupted_once)
    with pytest.raises(interruption), scratch_directory("x-") as scratch:
        (scratch / "file").touch()
    assert not list(tmp_path.iterdir())
