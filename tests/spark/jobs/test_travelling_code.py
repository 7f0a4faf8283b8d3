"""What travels with a job: minikafka as a zip, and jobs that need no driver of their own."""

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import minikafka.spark.jobs
from minikafka.spark.jobs.registry import JOBS
from minikafka.spark.jobs.travelling_code import write_code

pytestmark = pytest.mark.slow


def test_the_zip_is_minikafka(tmp_path, monkeypatch):
    """It has the same bytes, whether Python has compiled a module just now or has read what it had compiled before."""
    write_code(tmp_path / "one.zip")
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "no cache yet"))
    write_code(tmp_path / "two.zip")
    one, two = (hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("one.zip", "two.zip"))
    assert one == two
    names = zipfile.ZipFile(tmp_path / "one.zip").namelist()
    assert {"minikafka/__init__.py", "minikafka/record/kernels/kernel.py"} <= set(names)
    assert not [name for name in names if "lab/" in name or "lessons/" in name or "__pycache__" in name]


def test_jobs_are_imported_from_the_zip(tmp_path):
    write_code(tmp_path / "code.zip")
    modules = ["minikafka.spark.source.data_source", *(job.module for job in JOBS.values())]
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'code.zip')!r})\n"
    code += "".join(f"import {module}\n" for module in modules)
    code += (
        "print({m.__file__.partition('minikafka/')[0] for n, m in sys.modules.items() if n.startswith('minikafka.')})"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert told.strip() == str({f"{tmp_path}/code.zip/"})


def test_nothing_but_the_session_needs_a_driver_of_its_own():
    folder = Path(minikafka.spark.jobs.__file__).parent
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        found = [word for word in ("sparkContext", "_jvm", "_jdf", ".rdd") if word in text]
        assert not found or path.name == "job_session.py", f"{path.name}: {found}"
