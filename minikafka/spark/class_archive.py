"""An archive of the classes that Spark and Kafka load: with it Spark's JVM is up in half the time (Java's class data sharing).

An archive fits one Java and one class path, which stand in the text beside it. Where it is missing, Java starts without it.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from minikafka.spark.cache import cache_dir

_KEPT = 3
"""How many archives the cache holds, of 150 MB each: one for each environment that was last set up."""

# What is asked while Java notes which classes it loads.
_WORKLOADS = (
    "append_as_leader [3x10]\nfetch 1 leo\ncount hw leo\nupdate_high_watermark leo\ndelete_old_segments",
    "append_as_leader [3x10]\nmaybe_increment_high_watermark leo\nconsume start read_committed=true",
    "append_as_leader [3x10]\ntruncate_to 1\nreopen clean=false\nmaybe_increment_log_start_offset 0",
)


def java_option(java_home: Path, jars: list[str]) -> str:
    """The option that gives Java the archive for these jars; empty where there is none."""
    archive = _archive(_label(java_home, jars))
    return f"-XX:SharedArchiveFile={archive}" if archive.exists() else ""


def was_made(java_home: Path, jars: list[str]) -> bool:
    """Whether `make` was called for this Java and these jars, be it that Java can write no archive."""
    return _archive(_label(java_home, jars)).with_suffix(".txt").exists()


def make(java_home: Path, jars: list[str]) -> bool:
    """Run Spark once, and let its Java write the archive when it ends (half a minute); False where it wrote none.

    A Java without an archive of its own classes, such as the wheel's, can write none. Only the last few archives stay.
    """
    cache_dir().mkdir(parents=True, exist_ok=True)
    label = _label(java_home, jars)
    archive = _archive(label)
    with tempfile.TemporaryDirectory(dir=cache_dir()) as directory:
        new = Path(directory) / "new.jsa"
        subprocess.run([sys.executable, "-m", __name__, str(new)], capture_output=True, check=False)
        made = new.exists()
        if made:
            os.replace(new, archive)
        else:
            archive.unlink(missing_ok=True)
    archive.with_suffix(".txt").write_text(label, encoding="utf-8")
    labels = sorted(cache_dir().glob("spark-classes-*.txt"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in labels[_KEPT:]:
        old.unlink(missing_ok=True)
        old.with_suffix(".jsa").unlink(missing_ok=True)
    return made


def _archive(label: str) -> Path:
    return cache_dir() / f"spark-classes-{hashlib.sha256(label.encode()).hexdigest()[:12]}.jsa"


def _label(java_home: Path, jars: list[str]) -> str:
    release = java_home / "release"
    java = release.read_text(encoding="utf-8") if release.exists() else ""
    return "\n".join([str(java_home), java, *jars])


def _main() -> None:
    """In a process of its own: start Spark, let it load what the witnesses need, end it, wait for the archive."""
    from minikafka.spark.session import start, why_kafka_is_absent
    from minikafka.witness import Workload, run, spark_expected
    from minikafka.witness.kafka_jvm import KafkaJvm
    from minikafka.witness.kafka_log import kafka_log

    spark = start(f"-XX:ArchiveClassesAtExit={sys.argv[1]}")
    gateway = spark.sparkContext._gateway
    kafka = None if why_kafka_is_absent() else kafka_log(KafkaJvm(gateway))
    with tempfile.TemporaryDirectory() as directory:
        for number, text in enumerate(_WORKLOADS):
            workload = Workload.parse(text)
            spark_expected(workload, spark)
            if kafka:
                run(workload, kafka, Path(directory) / f"topic-{number}")
    spark.stop()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    _main()
