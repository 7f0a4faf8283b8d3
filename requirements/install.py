"""Set up .venv from a lock file, if it is missing or out of date: python3 requirements/install.py lab|dev [extra lock]

Every package is pinned and checked by its hash. A stamp in .venv says which locks it was made from, so that a second call
does nothing. Needs Python 3.11 or later with its standard library alone.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
INCLUDES = {"core": ["core"], "lab": ["lab", "core"], "dev": ["dev", "lab", "core"], "fuzz": ["fuzz"]}


def fingerprint(lock):
    """What the contents of .venv follow from: the lock, the project's metadata, and this Python."""
    digest = hashlib.sha256(sys.version.encode())
    for name in (os.path.join("requirements", lock + ".txt"), "pyproject.toml"):
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def stamp(lock):
    return os.path.join(VENV, ".minikafka-" + lock)


def is_current(lock):
    try:
        with open(stamp(lock)) as file:
            return file.read() == fingerprint(lock)
    except OSError:
        return False


def make_venv():
    """Make .venv, also where Python lacks ensurepip (Debian without python3-venv): this Python's pip then serves it."""
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if made.returncode == 0:
        return [PYTHON, "-m", "pip"]
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", VENV], check=True)
    return [sys.executable, "-m", "pip", "--python", PYTHON]


def install(lock):
    """Bring .venv up to the lock; a .venv that another Python made, or none, is made anew."""
    keep = any(is_current(other) for other in INCLUDES) and lock in ("dev", "fuzz")
    pip = [PYTHON, "-m", "pip"] if keep and works([PYTHON, "-m", "pip", "--version"]) else make_venv()
    pip += ["--disable-pip-version-check", "--no-input"]
    print("Setting up .venv from requirements/{}.txt ...".format(lock), flush=True)
    options = ["install", "--quiet", "--require-hashes"]
    locked = os.path.join(ROOT, "requirements", lock + ".txt")
    # PySpark comes as source: it is built by the locked setuptools, not by whichever is the newest.
    for name, how in (("setuptools", []), ("pyspark", ["--no-deps", "--no-build-isolation"])):
        if not entry(locked, name):
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as alone:
            alone.write(entry(locked, name))
            alone.flush()
            subprocess.run(pip + options + how + ["-r", alone.name], check=True)
    subprocess.run(pip + options + ["-r", locked], check=True)
    if lock != "fuzz":
        subprocess.run(pip + ["install", "-qq", "--no-deps", "--no-build-isolation", "--editable", ROOT], check=True)
    for included in INCLUDES[lock]:
        with open(stamp(included), "w") as file:
            file.write(fingerprint(included))


def entry(locked, name):
    """What the lock says of one package; nothing where it does not name it."""
    with open(locked) as file:
        found = re.search(r"^" + name + r"==.*(?:\n +--hash.*)*\n", file.read(), re.MULTILINE)
    return found.group() if found else ""


def works(command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def main(locks):
    if sys.version_info < (3, 11):
        return "minikafka needs Python 3.11 or later, and this is {}.{}: make PYTHON=python3.11 ...".format(*sys.version_info)
    for lock in locks:
        if not is_current(lock):
            try:
                install(lock)
            except subprocess.CalledProcessError as failure:
                return "Setting up .venv failed: {}".format(" ".join(map(str, failure.cmd)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["lab"]))
