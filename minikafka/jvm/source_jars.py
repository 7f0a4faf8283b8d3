"""The sources of any version of Kafka, from the registry that its jars come from.

They are kept in the cache, a directory for each version; a version that is there needs no network.
"""

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from minikafka.jvm.cache import cache_dir
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
# What the jars of the version that minikafka mirrors hold, so that nobody compares with something else.
_SHA256 = {
    "kafka-clients": "cd62781ce1a7a7890038577c7d098bda0cdcd7a09d0abdd57f334f2c09002617",
    "kafka-group-coordinator": "582f16b41ee7119897ae7651c76b452887f9b0489c3c7ecbee52c4d8579be0dd",
    "kafka-metadata": "2f94cf635512acaa56d3485da2393297a04d9d01d191ed719b2a62967658ff21",
    "kafka-raft": "25f0284789214ece849933320db5a7ae5a656321faf1aef669d03c957cb52ca3",
    "kafka-server": "2daf07989e51784167e3f385eb351466612eb611bd2512e93df40009de18b8a4",
    "kafka-server-common": "acff7b13f3e362939f46902f5aa44cc894a294a3c510342e9598529f893fea6d",
    "kafka-storage": "dd6bddaf8cdb3db23b1ecfc2465595c8299d87470f3c913ab9d8ae11c17231e7",
    "kafka-transaction-coordinator": "8aecb58e014c6732690bc0760a9951045a4d30d036cc2f01b44464ca8c0131b8",
    "kafka_2.13": "1c29c0c000044dc2e5c359b228dc19cfc7a8397be8ccbcb564cde5d5f513be03",
}
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
    is_whole = version != KAFKA_VERSION or all((kept / _name(name, version)).exists() for name in _SHA256)
    if not kept.is_dir() or not is_whole:
        _fetch(version, kept)
    jars = sorted(kept.glob("*.jar"))
    for jar in jars:
        _check(jar, version)
    return jars


def _name(artifact: str, version: str) -> str:
    return f"{artifact}-{version}-sources.jar"


def _check(jar: Path, version: str) -> None:
    pinned = _SHA256.get(jar.name.removesuffix(f"-{version}-sources.jar"), "") if version == KAFKA_VERSION else ""
    if pinned and hashlib.sha256(jar.read_bytes()).hexdigest() != pinned:
        raise SourcesUnavailableError(
            f"{jar} is not the jar that Apache Kafka {version} was published with; remove it to fetch it again"
        )


def _fetch(version: str, into: Path) -> None:
    """Lay the jars into the directory `into`, all or none; what an earlier minikafka laid there goes."""
    try:
        with jvm_with_ivy() as jvm:
            found, why = _ask_ivy(jvm, version)
    except KafkaJarsUnavailableError as unavailable:
        raise SourcesUnavailableError(str(unavailable)) from unavailable
    if "kafka-clients" not in found or "kafka_2.13" not in found:
        raise SourcesUnavailableError(
            f"The sources of Apache Kafka {version} are not in the cache ({cache_dir()}) and cannot be fetched: {why}"
        )
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent) as temporary:
        laid = Path(temporary, version)
        laid.mkdir()
        for name, jar in found.items():
            shutil.copyfile(jar, laid / _name(name, version))
        if into.is_dir():
            os.rename(into, Path(temporary, "earlier"))
        try:
            os.rename(laid, into)
        except OSError:
            if not into.is_dir():  # otherwise another process was faster
                raise


def _ask_ivy(jvm: Any, version: str) -> tuple[dict[str, str], str]:
    """(artifact → path of its jar, why others have none)."""
    printed = jvm.java.io.ByteArrayOutputStream()
    module, packages = jvm.org.apache.ivy.core.module, "org.apache.kafka"
    settings = maven_utils(jvm).buildIvySettings(
        no_value(jvm), jvm.scala.Some(str(cache_dir() / "ivy-sources")), False, jvm.java.io.PrintStream(printed)
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
