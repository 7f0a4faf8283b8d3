"""Set up .venv from a lock file, if it is missing or out of date: install.py lab|dev [fuzz|site|node]

Every package is pinned and checked by its hash. A stamp in .venv says which locks it was made from, so that a second
call does nothing. Needs Python 3.11 or later with its standard library alone.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import tomllib
except ImportError:
    sys.exit(
        "minikafka needs Python 3.11 or later, and this is {}.{}: make PYTHON=python3.11 ...".format(*sys.version_info)
    )

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
SIZES = {"lab": "1.6 GB", "dev": "2.0 GB"}  # of .venv, with Linux's wheels
INCLUDES = {"lab": ["lab"], "dev": ["dev", "lab", "site"], "fuzz": ["fuzz"], "site": ["site"], "node": ["node"]}


def fingerprint(lock):
    """What the contents of .venv follow from: the lock, the project's metadata, and this Python."""
    digest = hashlib.sha256(sys.version.encode())
    with open(os.path.join(ROOT, "requirements", lock + ".txt"), "rb") as file:
        digest.update(file.read())
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        digest.update(json.dumps(tomllib.load(file)["project"]).encode())
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
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", VENV], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if made.returncode == 0:
        return [PYTHON, "-m", "pip"]
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", VENV], check=True)
    return [sys.executable, "-m", "pip", "--python", PYTHON]


def install(lock):
    """Bring .venv up to the lock; a .venv that another Python made, or none, is made anew."""
    if lock == "lab" and os.path.exists(stamp("dev")):
        lock = "dev"  # it was set up for the tests once: what they need stays in step
    pip = [PYTHON, "-m", "pip"] if made_by_this_python() else make_venv()
    pip += ["--disable-pip-version-check", "--no-input"]
    size = f" ({SIZES[lock]} on the disk; some minutes, once)" if lock in SIZES else ""
    print(f"Setting up .venv from requirements/{lock}.txt{size} ...", flush=True)
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
    if lock in SIZES:
        subprocess.run(pip + ["install", "-qq", "--no-deps", "--no-build-isolation", "--editable", ROOT], check=True)
    for included in INCLUDES[lock]:
        with open(stamp(included), "w") as file:
            file.write(fingerprint(included))


def entry(locked, name):
    """What the lock says of one package; nothing where it does not name it."""
    with open(locked) as file:
        found = re.search(r"^" + name + r"==.*(?:\n +--hash.*)*\n", file.read(), re.MULTILINE)
    return found.group() if found else ""


def made_by_this_python():
    """Whether .venv is there, with a pip, and of the Python that runs."""
    try:
        ask = subprocess.run(
            [PYTHON, "-c", "import pip, sys; print(repr(sys.version))"], stdout=subprocess.PIPE, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    return ask.stdout.decode().strip() == repr(sys.version)


def main(locks):
    unknown = [lock for lock in locks if lock not in INCLUDES]
    if unknown:
        return f"There is no set-up called {unknown[0]}: {', '.join(INCLUDES)}"
    for lock in locks:
        if not is_current(lock):
            try:
                install(lock)
            except subprocess.CalledProcessError as failure:
                return "Setting up .venv failed: {}".format(" ".join(map(str, failure.cmd)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["lab"]))
