"""An archive of the classes that Spark loads: with it Spark's JVM is up in half the time (Java's class data sharing).

An archive fits one Java and one list of jars, whose names stand beside it. Where it is missing or does not fit, Java
starts without it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from minikafka.spark.cache import cache_dir

_QUESTIONS = (
    "SELECT *, sum(n) OVER (ORDER BY n) AS total FROM numbers JOIN more USING (n) ORDER BY n",
    "SELECT n, count(*) FROM more LEFT JOIN numbers USING (n) WHERE n NOT IN (SELECT max(n) FROM numbers) GROUP BY n",
    "SELECT aggregate(transform(sequence(1, 3), i -> struct(i AS i, i * n AS x)), 0L, (a, s) -> a + s.x) FROM numbers",
)


def java_option(java_home: Path, jars: list[str]) -> str:
    """The option that gives Java the archive for these jars; empty where there is none."""
    return f'"-XX:SharedArchiveFile={_archive()}"' if was_made(java_home, jars) and _archive().exists() else ""


def was_made(java_home: Path, jars: list[str]) -> bool:
    """Whether `make` was last called for this Java and these jars, be it that Java can write no archive."""
    try:
        return _label().read_text(encoding="utf-8") == _label_of(java_home, jars)
    except OSError:
        return False


def make(java_home: Path, jars: list[str]) -> bool:
    """Run Spark once, and let its Java write the archive when it ends (half a minute); False where it wrote none.

    A Java without an archive of its own classes, such as the wheel's, can write none.
    """
    cache_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_dir()) as directory:
        new = Path(directory) / "new.jsa"
        subprocess.run([sys.executable, "-m", __name__, str(new)], capture_output=True, check=False)
        made = new.exists()
        _label().unlink(missing_ok=True)
        if made:
            os.replace(new, _archive())
        else:
            _archive().unlink(missing_ok=True)
    _label().write_text(_label_of(java_home, jars), encoding="utf-8")
    return made


def _archive() -> Path:
    return cache_dir() / "spark-classes.jsa"


def _label() -> Path:
    return cache_dir() / "spark-classes.txt"


def _label_of(java_home: Path, jars: list[str]) -> str:
    import pyspark

    release = java_home / "release"
    java = release.read_text(encoding="utf-8") if release.exists() else ""
    return "\n".join([str(java_home), java, str(Path(pyspark.__file__).parent), *jars])


def _main() -> None:
    """In a process of its own: start Spark, let it load what small queries need, end it, wait for the archive."""
    from minikafka.spark.session import start

    spark = start(f'"-XX:ArchiveClassesAtExit={sys.argv[1]}"')
    for name in ("numbers", "more"):
        spark.createDataFrame(spark.range(5).selectExpr("id AS n").toArrow()).createOrReplaceTempView(name)
    for question in _QUESTIONS:
        spark.sql(question).collect()
    java = spark.sparkContext._gateway.proc
    spark.stop()
    java.stdin.close()
    java.wait()


if __name__ == "__main__":
    _main()
