"""Apache Kafka's jars: their coordinates, and how they are fetched through the Ivy that comes with Spark.

They are fetched once, by a short-lived JVM, into the cache directory; thanks to a list of paths beside them, every
later call takes milliseconds and needs no network.
"""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minikafka.common.at_hand import LOCK_EX, flock
from minikafka.common.draft_file import draft_of, remove_left_drafts
from minikafka.jvm.cache import cache_dir
from minikafka.jvm.jar_digests import is_as_published, jars_of
from minikafka.jvm.java_home import JavaNotFoundError, java_command
from minikafka.jvm.java_network import BUNDLE_VARIABLES, use_this_machines_network

KAFKA_VERSION = "4.3.0"

# The parts that can be asked for: `storage` holds UnifiedLog and what it needs, `broker` also the broker and the tools.
COORDINATES = {
    "storage": (f"org.apache.kafka:kafka-storage:{KAFKA_VERSION}",),
    "broker": (
        f"org.apache.kafka:kafka-storage:{KAFKA_VERSION}",
        f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
        f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
    ),
}


# MavenUtils leaves Scala's library out, because Spark has it.
_SPARKS_OWN = "scala-library-2.13.*.jar"


class KafkaJarsUnavailableError(Exception):
    """Kafka's jars are not in the cache and cannot be fetched: no network, no Java or no Spark."""


def kafka_classpath(part: str = "broker") -> list[str]:
    """The paths of the jars of `part` ("storage" or "broker") with everything they depend on, fetched when missing.

    Another process that fetches them is waited for. Raises KafkaJarsUnavailableError, OSError.
    """
    if jars := cached_classpath(part):
        return jars
    with _alone():
        return cached_classpath(part) or _fetch(part)


def cached_classpath(part: str = "broker") -> list[str] | None:
    """The same paths from the cache alone; None when the list of them, or a jar, is missing, short or damaged."""
    listed = _list_file(part)
    try:
        if not listed.is_file():  # a pipe would never be read to its end
            return None
        jars = [str(cache_dir() / line) for line in listed.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return None
    return jars if not _missing(part, jars) and all(map(_is_jar, jars)) else None


def _missing(part: str, jars: Iterable[str]) -> list[str]:
    """The names of the jars that the part has, and `jars` has not."""
    return sorted(jars_of(part) - {Path(jar).name for jar in jars})


def _is_jar(path: str) -> bool:
    """Whether the file is there and ends as a jar does: one that was cut off does not."""
    return os.path.isfile(path) and zipfile.is_zipfile(path)


def fetch(part: str = "broker") -> list[str]:
    """Resolve and download the jars of `part`, whether or not the cache has them.

    Raises KafkaJarsUnavailableError, OSError where the disk has no room.
    """
    with _alone():
        return _fetch(part)


def _fetch(part: str) -> list[str]:
    jars = _resolve(COORDINATES[part])
    # Ivy took what was there for the jar, or for the description of one.
    if _remove(wrong_jars(jars)) or _forget_if(_missing(part, jars)):
        jars = _resolve(COORDINATES[part], from_this_machine=False)
    if removed := _remove(wrong_jars(jars)):
        raise KafkaJarsUnavailableError(
            f"{removed[0].name}, as it was fetched, is not the jar of that name that belongs to Kafka {KAFKA_VERSION}. "
            "It was removed: run `minikafka fetch` again where Maven Central itself answers."
        )
    if missing := _forget_if(_missing(part, jars)):
        raise KafkaJarsUnavailableError(
            f"{missing[0]} did not come, and {len(missing) - 1} more of the jars that Kafka {KAFKA_VERSION} needs: who "
            "answered left out what they depend on. Run `minikafka fetch` again where Maven Central itself answers."
        )
    if broken := [jar for jar in jars if not _is_jar(jar)]:
        raise KafkaJarsUnavailableError(f"{broken[0]} is no jar, or only a part of one: install pyspark anew.")
    listed = _list_file(part)
    listed.parent.mkdir(parents=True, exist_ok=True)
    remove_left_drafts(listed.parent)
    with draft_of(listed) as draft:
        draft.write("".join(f"{_in_the_cache(jar)}\n" for jar in jars).encode())
    return jars


def wrong_jars(jars: Iterable[str]) -> list[Path]:
    """Those of `jars` that do not hold what the jar of their name holds that belongs to Kafka (0.2 s for all).

    Scala's library is Spark's own, and not judged. Raises OSError where a file cannot be read.
    """
    fetched = (jar for jar in map(Path, jars) if not jar.match(_SPARKS_OWN))
    return [jar for jar in fetched if not (jar.is_file() and is_as_published(jar))]


def _forget_if(missing: list[str]) -> list[str]:
    """Remove all that Ivy keeps of earlier answers if jars are `missing`, which it returns: it would ask nobody again
    what a jar depends on.
    """
    if missing:
        shutil.rmtree(cache_dir() / "ivy" / "cache", ignore_errors=True)
    return missing


def _remove(jars: list[Path]) -> list[Path]:
    """Remove them, with what Ivy remembers of them: it would lay the same there again. Returns `jars`."""
    for jar in jars:
        if jar.is_dir() and not jar.is_symlink():
            shutil.rmtree(jar)
        else:
            jar.unlink(missing_ok=True)
        for kept in (cache_dir() / "ivy" / "cache").glob("*/*/*/*.jar"):
            if f"{kept.parents[2].name}_{kept.name}" == jar.name:
                shutil.rmtree(kept.parents[1])
    return jars


def resolved_jars(part: str) -> list[Path]:
    """The jars of `part` as Ivy resolves them, without Spark's own, and not checked. Raises as `fetch` does."""
    with _alone():
        return [jar for jar in map(Path, _resolve(COORDINATES[part])) if not jar.match(_SPARKS_OWN)]


def _in_the_cache(jar: str) -> str:
    """The path below the cache, where the jar is there: a cache may be carried to another machine."""
    return str(Path(jar).relative_to(cache_dir())) if Path(jar).is_relative_to(cache_dir()) else jar


@contextmanager
def _alone() -> Iterator[None]:
    """Let only one process fill the cache at a time: two runs of Ivy would trip over each other."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    with open(cache_dir() / ".lock", "w") as lock:
        flock(lock, LOCK_EX)
        yield


def _list_file(part: str) -> Path:
    return cache_dir() / f"kafka-{part}-{KAFKA_VERSION}.txt"


def spark_jars() -> Path:
    """The directory of PySpark's jars. Raises KafkaJarsUnavailableError when PySpark is not installed."""
    from importlib.util import find_spec

    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise KafkaJarsUnavailableError(
            "Kafka's jars come through Spark, and the package pyspark is not installed: pip install 'minikafka[lab]'."
        )
    return Path(pyspark.origin).parent / "jars"


def _resolve(coordinates: tuple[str, ...], *, from_this_machine: bool = True) -> list[str]:
    """Have Spark's `MavenUtils` download the coordinates, in a JVM that ends with this call.

    `from_this_machine`: what the machine's own Maven repository has is taken from there.
    """
    from py4j.protocol import Py4JJavaError

    with jvm_with_ivy() as jvm:
        report = jvm.java.io.ByteArrayOutputStream()
        try:
            return _ask_maven_utils(jvm, coordinates, jvm.java.io.PrintStream(report), from_this_machine)
        except Py4JJavaError as failure:
            raise KafkaJarsUnavailableError(_why(failure, report.toString())) from failure


@contextmanager
def jvm_with_ivy() -> Iterator[Any]:
    """A JVM's view, with Spark's classes and the Ivy that comes with them; the JVM ends with the block.

    Raises KafkaJarsUnavailableError where there is no Java or no Spark, and for whatever fails between here and there.
    """
    jars = spark_jars()
    try:
        java = java_command()
    except JavaNotFoundError as no_java:
        raise KafkaJarsUnavailableError(f"Kafka's jars cannot be fetched. {no_java}") from no_java

    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
    from py4j.protocol import Py4JError, Py4JNetworkError

    port, secret = launch_gateway(
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        classpath=str(jars / "*"),
        javaopts=["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
        java_path=java,
        die_on_exit=True,
        enable_auth=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=secret, auto_convert=True))
    try:
        with tempfile.TemporaryDirectory() as directory:
            use_this_machines_network(gateway, Path(directory))
            yield gateway.jvm
    except Py4JNetworkError as died:
        raise KafkaJarsUnavailableError(
            f"Kafka's jars cannot be fetched: the JVM that fetches them ended ({died})."
        ) from died
    except Py4JError as failure:
        raise KafkaJarsUnavailableError(f"Kafka's jars cannot be fetched: {failure}") from failure
    finally:
        gateway.shutdown()


def maven_utils(jvm: Any) -> Any:
    """Spark's `MavenUtils`, which knows the repositories."""
    return jvm.java.lang.Class.forName("org.apache.spark.util.MavenUtils$").getField("MODULE$").get(None)


def no_value(jvm: Any) -> Any:
    """Scala's `None`."""
    return getattr(getattr(jvm.scala, "None$"), "MODULE$")


def _ask_maven_utils(jvm: Any, coordinates: tuple[str, ...], printer: Any, from_this_machine: bool) -> list[str]:
    companion, none = maven_utils(jvm), no_value(jvm)
    ivy_dir = jvm.scala.Some(str(cache_dir() / "ivy"))
    # The second settings are for a second try: without the machine's own Maven repository, which may hold a
    # description of a jar but not the jar.
    first = companion.buildIvySettings(none, ivy_dir, from_this_machine, printer)
    second = jvm.scala.Some(companion.buildIvySettings(none, ivy_dir, False, printer))
    no_exclusions = getattr(companion, "resolveMavenCoordinates$default$5")()
    paths = companion.resolveMavenCoordinates(",".join(coordinates), first, second, True, no_exclusions, False, printer)
    resolved = sorted(paths.apply(index) for index in range(paths.size()))
    return [*resolved, *map(str, sorted(spark_jars().glob(_SPARKS_OWN)))]


def _why(failure: Any, report: str) -> str:
    """In one line: what kept Ivy from fetching, and what to do about it."""
    lines = [line.strip() for line in report.splitlines()]
    # Ivy ends with "not found" where it could not even ask; why it could not stands further up.
    refused = [line for line in lines if line.startswith(("Server access error", "Host ")) or "timed out" in line]
    missing = [line for line in lines if "unresolved" in line or line.endswith(": not found")]
    raised = failure.java_exception.getMessage() or failure.java_exception.toString()
    causes = dict.fromkeys(refused[:1] or [raised, *missing[:2]])
    remedy = "Run `minikafka fetch` once where there is a network; from then on it works offline."
    if any("PKIX" in line for line in refused):
        remedy = (
            "Nobody whom this machine trusts has signed that server's certificate. Behind a company's proxy, let "
            f"{BUNDLE_VARIABLES[0]} name a file (PEM) with the company's certificates, and run `minikafka fetch` again."
        )
    why = "; ".join(causes)
    return f"Apache Kafka {KAFKA_VERSION} is not in the cache ({cache_dir()}) and cannot be fetched: {why}. {remedy}"
