"""The locked dependencies: pinned, hashed, and without addresses."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
LOCKS = sorted((REPOSITORY / "requirements").glob("*.txt"))


def pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", lock.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_package_is_pinned_and_hashed(lock):
    text = re.sub("^#.*\n|^\n", "", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) >= 8
    for entry in entries:
        assert re.match(
            r"[a-z0-9][a-z0-9._-]*==[^\s\\]+( ; [^\\]+)? \\\n( +--hash=sha256:[0-9a-f]{64}( \\\n)?)+$", entry
        ), entry


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_no_lock_says_where_packages_come_from(lock):
    text = lock.read_text(encoding="utf-8")
    assert not re.search(r"://|--index-url|--extra-index-url|--find-links|--trusted-host|\.(?:org|com|io)\b", text)


def test_the_locks_agree():
    dev = pins(REPOSITORY / "requirements" / "dev.txt")
    for lock in LOCKS:
        others = {
            name: version for name, version in pins(lock).items() if lock.stem not in ("fuzz", "node") or name in dev
        }
        assert others.items() <= dev.items(), lock.name


@pytest.mark.parametrize(
    ("lock", "extras"),
    [
        ("core", []),
        ("lab", ["lab"]),
        ("dev", ["lab", "dev"]),
        ("site", ["site"]),
        ("fuzz", ["fuzz"]),
        ("node", ["node"]),
    ],
)
def test_each_lock_holds_what_the_project_asks_for(lock, extras):
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["dependencies"] + [need for extra in extras for need in project["optional-dependencies"][extra]]
    names = {re.match(r"[\w.-]+", need).group().lower().replace("_", "-") for need in asked}
    assert names <= pins(REPOSITORY / "requirements" / f"{lock}.txt").keys()


@pytest.mark.parametrize("name", ["core", "nonsense"])
def test_what_is_no_set_up_is_refused_in_one_line(name):
    install = REPOSITORY / "requirements" / "install.py"
    run = subprocess.run([sys.executable, str(install), name], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"There is no set-up called {name}: lab, dev, fuzz, site, node\n"
