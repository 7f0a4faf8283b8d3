"""The directory that a killed broker left, kept small: zeros that only fill an index up to its length are not stored.

`tests/golden/make_killed.py` had a real broker write it and killed that broker. `keep` stores what it left: index files
are 10 MiB long while their segment grows, all but a few bytes zeros; their lengths stand in a file beside the
directory. `killed_broker` gives the directory back as the kill left it, byte for byte.
"""

import shutil
from pathlib import Path

from minikafka.lab.stage.workbench import scratch

LENGTHS = "lengths"
_LONG = 100_000
"""A file with more bytes than this is an index that is still growing."""


def keep(directory: Path, target: Path) -> None:
    """Store `directory` (its name is topic-partition) below `target`, index files without the zeros at their end."""
    stored, lengths = Path(target) / directory.name, []
    shutil.rmtree(stored, ignore_errors=True)
    stored.mkdir(parents=True)
    for file in sorted(directory.iterdir()):
        data = file.read_bytes()
        if len(data) > _LONG:
            assert file.suffix in (".index", ".timeindex"), f"{file.name} is too long to be kept"
            lengths.append(f"{file.name} {len(data)}\n")
            data = data.rstrip(b"\0")
        (stored / file.name).write_bytes(data)
    (Path(target) / LENGTHS).write_text("".join(lengths), encoding="utf-8")


def killed_broker(data: str | Path = "data/killed", partition: str = "orders-0") -> Path:
    """A new copy of the stored directory, its index files as long again as they were when the broker was killed."""
    source, target = Path(data), scratch(partition)
    shutil.copytree(source / partition, target)
    for line in (source / LENGTHS).read_text(encoding="utf-8").splitlines():
        name, length = line.split()
        with open(target / name, "r+b") as file:
            file.truncate(int(length))
    return target
