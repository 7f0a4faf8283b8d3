"""The sources of any version of Kafka, from the registry that its jars come from.

They are kept in the cache, a directory for each version; a version that is there needs no network.
"""

import os
import re
import shutil
from pathlib import Path
from typing import Any

from minikafka.jvm.cache import cache_dir, scratch_in_cache
from minikafka.jvm.jar_digests import is_as_published, pinned_digests
from minikafka.jvm.kafka_jars import KAFKA_VERSION, KafkaJarsUnavailableError, jvm_with_ivy, maven_utils, no_value

ARTIFACTS = (
    "kafka-clients",
    "kafka-group-coordinator",
    "kafka-metadata",
    "kafka-raft",
    "kafka-server",
    "kafka-server-common",
    "kafka-storage",
    "kafka-transaction-coordinator",
    "kafka_2.13",
)
_WARNINGS = 1  # the level of `org.apache.ivy.util.Message`
_VERSION = re.compile(r"\d+\.\d+\.\d+")


class SourcesUnavailableError(RuntimeError):
    """The sources of a version of Kafka are not in the cache, and cannot be fetched, or are not what they should be."""


def source_jars(version: str) -> list[Path]:
    """The jars with the sources of Kafka `version` ("4.3.1"), fetched when they are missing.

    Artifacts that did not exist yet in that version are left out. Raises SourcesUnavailableError.
    """
    if not _VERSION.fullmatch(version):
        raise SourcesUnavailableError(f"{version!r} is no version of Kafka: three numbers are, as in {KAFKA_VERSION}")
    kept = cache_dir() / "sources" / version
    # An earlier minikafka needed fewer of them.
    is_whole = all((kept / name).exists() for name in pinned_digests() if name.endswith(_name("", version)))
    if not kept.is_dir() or not is_whole:
        _fetch(version, kept)
    jars = sorted(kept.glob("*.jar"))
    for jar in jars:
        if jar.name in pinned_digests() and not is_as_published(jar):
            raise SourcesUnavailableError(
                f"{jar} is not the jar that Apache Kafka {version} was published with; remove it to fetch it again"
            )
    return jars


def _name(artifact: str, version: str) -> str:
    return f"{artifact}-{version}-sources.jar"


def _fetch(version: str, into: Path) -> None:
    """Lay the jars into the directory `into`, all or none; what an earlier minikafka laid there goes."""
    with scratch_in_cache() as scratch:  # what Ivy keeps goes with it: it would give a wrong jar again
        try:
            with jvm_with_ivy() as jvm:
                found, why = _ask_ivy(jvm, version, scratch / "ivy")
        except KafkaJarsUnavailableError as unavailable:
            raise SourcesUnavailableError(str(unavailable)) from unavailable
        if "kafka-clients" not in found or "kafka_2.13" not in found:
            raise SourcesUnavailableError(
                f"The sources of Apache Kafka {version} are not in the cache ({cache_dir()}) "
                f"and cannot be fetched: {why}"
            )
        laid = scratch / version
        laid.mkdir()
        for name, jar in found.items():
            shutil.copyfile(jar, laid / _name(name, version))
        into.parent.mkdir(parents=True, exist_ok=True)
        if into.is_dir():
            os.rename(into, scratch / "earlier")
        try:
            os.rename(laid, into)
        except OSError:
            if not into.is_dir():  # otherwise another process was faster
                raise


def _ask_ivy(jvm: Any, version: str, ivy_dir: Path) -> tuple[dict[str, str], str]:
    """(artifact → path of its jar, why others have none)."""
    printed = jvm.java.io.ByteArrayOutputStream()
    module, packages = jvm.org.apache.ivy.core.module, "org.apache.kafka"
    settings = maven_utils(jvm).buildIvySettings(
        no_value(jvm), jvm.scala.Some(str(ivy_dir)), False, jvm.java.io.PrintStream(printed)
    )
    ivy = jvm.org.apache.ivy.Ivy.newInstance(settings)
    # Ivy forgets its warnings when it is done, but not before they are printed.
    jvm.java.lang.System.setOut(jvm.java.io.PrintStream(printed))
    jvm.java.lang.System.setErr(jvm.java.io.PrintStream(printed))
    ivy.getLoggerEngine().setDefaultLogger(jvm.org.apache.ivy.util.DefaultMessageLogger(_WARNINGS))
    wanted = module.descriptor.DefaultModuleDescriptor.newDefaultInstance(
        module.id.ModuleRevisionId.newInstance("minikafka", "sources", version)
    )
    for name in ARTIFACTS:
        revision = module.id.ModuleRevisionId.newInstance(packages, name, version)
        dependency = module.descriptor.DefaultDependencyDescriptor(wanted, revision, True, False, False)
        dependency.addDependencyConfiguration("default", "*")
        dependency.addDependencyArtifact(
            "default",
            module.descriptor.DefaultDependencyArtifactDescriptor(
                dependency, name, "jar", "jar", None, {"m:classifier": "sources"}
            ),
        )
        wanted.addDependency(dependency)
    options = jvm.org.apache.ivy.core.resolve.ResolveOptions()
    options.setTransitive(False)
    options.setOutputReport(False)
    report = ivy.resolve(wanted, options)
    found = {each.getName(): each.getLocalFile() for each in report.getAllArtifactsReports()}
    jars = {name: str(file.getPath()) for name, file in found.items() if file is not None}
    return jars, _why(version, [*printed.toString().splitlines(), *map(str, report.getAllProblemMessages())])


def _why(version: str, told: list[str]) -> str:
    """One reason in one line; the network's comes first, because a file that cannot be asked for is not found, too."""
    failed = [line for line in told if "Server access error" in line or "Host " in line]
    network = [line for line in failed if "spark-packages" not in line]  # Spark asks there, too; Kafka is not there
    download = [line for line in told if line.startswith("download failed")]
    if network:
        return " ".join(network[0].split())
    return f"the registry lists {version} without its sources" if download else f"the registry has no {version}"
