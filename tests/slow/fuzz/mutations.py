"""Damages sound log directories, the same way for the same seed: a `Mutation` names what it did.

Most damage to a batch, message or snapshot leaves its CRC right, so that it gets past the first check and is met behind
it. One mutation is one to five damages, each drawn from a seed of its own: a smaller mutation (`only`) does some of
them.
"""

import os
import random
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from crc32c import crc32c

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from tests.slow.fuzz import batches as raw
from tests.slow.fuzz.origins import BROKERS_NOW_MS, Origin, Origins

REPAIRED = 0.8
"""How often a CRC is made right after a damage."""

DAY_MS = 86_400_000
ENTRY_FIELDS = {
    ".index": (8, ((0, 4), (4, 4))),
    ".timeindex": (12, ((0, 8), (8, 4))),
    ".txnindex": (34, ((0, 2), (2, 8), (10, 8), (18, 8), (26, 8))),
}
SNAPSHOT_ENTRY = 46
SNAPSHOT_FIELDS = ((0, 8), (8, 2), (10, 4), (14, 8), (22, 4), (26, 8), (34, 4), (38, 8))
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
STATES = (".swap", ".swap", ".cleaned", ".deleted")
ODD_NAMES = (
    "7.log", "+7.log", "-7.log", "-7.snapshot", "-7.index", "٧.log", ".log", ".index", ".snapshot", ".swap", ".cleaned",
    ".deleted", "log", "notes.txt", "no dot", "nodot.log.txt", "x.log", "x.index", "x.snapshot", "x.swap", "x.cleaned",
    "nodotswap", "nodot.checkpoint.deleted", "99999999999999999999.log", "99999999999999999999.snapshot",
    "99999999999999999999.index", "99999999999999999999.timeindex.cleaned", "9223372036854775806.log",
    "9223372036854775807.log", "9223372036854775807.snapshot", "9223372036854775808.log", "9223372036854775000.log.swap",
    "00000000000000000000.log.swap.swap", "00000000000000000000.log.cleaned.swap", "00000000000000000000.swap",
    "00000000000000000000.LOG", "00000000000000000000-5.log", "00000000000000000000.kafka", "leader-epoch-checkpoint.tmp",
    "partition.metadata.tmp", "leader-epoch-checkpoint.swap", ".kafka_cleanshutdown", ".lock", "a\nb.log", "line\nend",
    "\udcff\udcfe.log", "\udcff.txt", "\udcff.snapshot", "日志.log", "日志", " .log", "0 .log", "1_0.log", "0x10.log",
    "00000000000000000000-0000000001.checkpoint", "00000000000000000000-0000000001.checkpoint.part",
    "00000000000000000000-0000000001.checkpoint.deleted", f"{'0' * 200}.log", f"{'9' * 100}.snapshot", "5.timeindex",
    "00000000000000000005.index.cleaned", "00000000000000000005.snapshot.cleaned", "00000000000000000005.snapshot.swap",
)  # fmt: skip
TEXT_PARTS = (
    b"", b"\n", b"\r", b"\r\n", b" ", b"  ", b"\t", b"-", b"+", b"0", b"-1", b"1", b"99999999999", b"4294967296",
    b"9223372036854775807", b"9223372036854775808", b"\\", b"=", b":", b"{", b'"', b"e9", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\0", "٠".encode(), b"\x0b", b"\xc2\x85", b"\xe2\x80\xa8", b"1 2\n", b"topic_id: ", b"version: ",
)  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """A damaged log directory: `partition` lies in it, `damages` tells what was done.

    `settings` and `now_ms` are what a recovery of it is to be told; `seed` and the `origin`'s name make it again.
    """

    seed: int
    origin: Origin
    partition: Path
    damages: tuple[str, ...]
    settings: dict = field(default_factory=dict)
    now_ms: int = 0

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.origin.name} (seed {self.seed})", *(f"  {n}: {d}" for n, d in enumerate(self.damages))]
        )


def mutate(seed: int, origins: Origins, log_dir: Path, only: Collection[int] | None = None) -> Mutation:
    """Lay a damaged copy of an origin at `log_dir`; `only` names the damages (by number) that are done."""
    draw = random.Random(seed)
    origin = origins[_origin_name(draw, origins.names)]
    partition = origin.copy_to(log_dir)
    count = draw.choice((1, 1, 1, 1, 2, 2, 2, 3, 4, 5))
    kinds = draw.choices(list(DAMAGES), list(DAMAGES.values()), k=count)
    settings = origin.config if draw.random() < 0.8 else {}
    now_ms = draw.choice((origin.now_ms, origin.now_ms, origin.now_ms + 2 * DAY_MS, BROKERS_NOW_MS))
    told = []
    for number, damage in enumerate((_situation, *kinds)):
        if only is None or number in only:
            what = damage(random.Random(f"{seed}/{number}"), partition)
            told.append(f"{damage.__name__.strip('_').replace('_', ' ')}: {what}")
        else:
            told.append("left out")
    return Mutation(seed, origin, partition, tuple(told), settings, now_ms)


def _origin_name(draw: random.Random, names: Collection[str]) -> str:
    drawn = [name for name in names if name.startswith("drawn-")]
    others = [name for name in names if not name.startswith("drawn-")]
    return draw.choice(drawn if draw.random() < 0.6 else others)


# ---- what is known beside the partition


def _situation(draw: random.Random, partition: Path) -> str:
    """Whether the last stop was clean, the recovery point and the log start: mostly left, or as a kill leaves them."""
    log_dir, told = partition.parent, []
    marker = log_dir / CLEAN_SHUTDOWN_FILE_NAME
    if draw.random() < 0.5 and marker.exists():
        marker.unlink()
        told.append("unclean")
    for name, chance in (("recovery-point-offset-checkpoint", 0.6), ("log-start-offset-checkpoint", 0.15)):
        if draw.random() < chance:
            offset = draw.choice([0, 0, *_offsets_of(partition)])
            topic, _, number = partition.name.rpartition("-")
            (log_dir / name).write_text(f"0\n1\n{topic} {number} {offset}\n")
            told.append(f"{name} {offset}")
    return ", ".join(told) or "as it was"


def _offsets_of(partition: Path) -> list[int]:
    """Offsets at and around the bases of segments, and far away."""
    bases = [int(path.stem) for path in sorted(partition.glob("*.log")) if path.stem.isdigit()] or [0]
    return [*(base + beside for base in bases for beside in (0, 1)), bases[-1] + 5, bases[-1] + 1000, 2**40, 2**63 - 1]


def _log_dir_file(draw: random.Random, partition: Path) -> str:
    """A file beside the partition, as text."""
    names = sorted(path.name for path in partition.parent.iterdir() if path.is_file())
    return _edit_text(draw, partition.parent / draw.choice(names)) if names else "no file"


# ---- segments


def _batch_field(draw: random.Random, partition: Path) -> str:
    """One or two fields of one batch's header."""

    def edit(batch: bytes) -> tuple[bytes, str]:
        told = []
        for _ in range(draw.choice((1, 1, 2))):
            name, (position, size) = draw.choice(list(raw.fields_of(batch).items()))
            number = _interesting(draw, size, raw.number_at(batch, position, size))
            batch = raw.with_number(batch, position, size, number)
            told.append(f"{name} {number}")
        return batch, ", ".join(told)

    return _edit_batch(draw, partition, edit)


def _batch_attributes(draw: random.Random, partition: Path) -> str:
    """Bits of the attributes: codec, timestamp type, transactional, control, delete horizon."""

    def edit(batch: bytes) -> tuple[bytes, str]:
        position = 22 if raw.magic_of(batch) >= 2 else 17
        bits = draw.choice((1, 2, 4, 7, 8, 0x10, 0x20, 0x30, 0x40, 0x80, 0xFF))
        return raw.with_number(batch, position, 1, batch[position] ^ bits), f"attributes ^ {bits:#x}"

    return _edit_batch(draw, partition, edit)


def _batch_bytes(draw: random.Random, partition: Path) -> str:
    """Bytes of a batch, anywhere behind its magic."""

    def edit(batch: bytes) -> tuple[bytes, str]:
        data, told = bytearray(batch), []
        for _ in range(draw.choice((1, 1, 2, 5))):
            position = draw.randrange(17, len(data))
            data[position] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, data[position] ^ 1 << draw.randrange(8)))
            told.append(str(position))
        return bytes(data), f"bytes {' '.join(told)}"

    return _edit_batch(draw, partition, edit)


def _batch_length(draw: random.Random, partition: Path) -> str:
    """A batch cut or made longer, its size field right."""

    def edit(batch: bytes) -> tuple[bytes, str]:
        if draw.random() < 0.6:
            cut = draw.choice((raw.V2_HEADER, 26, 27, 34, draw.randrange(26, len(batch) + 1)))
            return raw.sized(batch[:cut]), f"cut to {cut}"
        more = draw.choice((b"\0", bytes(40), b"\xff" * 9, batch[raw.V2_HEADER :], draw.randbytes(20)))
        return raw.sized(batch + more), f"{len(more)} bytes more"

    return _edit_batch(draw, partition, edit)


def _records(draw: random.Random, partition: Path) -> str:
    """Numbers, keys, values and headers of records, compressed again by the batch's codec."""

    def edit(batch: bytes) -> tuple[bytes, str]:
        payload = raw.payload_of(batch)
        try:
            records = raw.tokens_of(payload or b"", raw.number_at(batch, 57, 4) if payload else 0)
        except (IndexError, ValueError):
            records = []
        if not records:
            return _edit_inner_message(draw, batch)
        number = draw.randrange(len(records))
        told = _edit_record(draw, records, number)
        length = _interesting(draw, 4, 20) if draw.random() < 0.15 else None
        payload = b"".join(raw.encoded(r, length if n == number else None) for n, r in enumerate(records))
        return raw.with_payload(batch, payload), f"record {number}: {told}, length {length or 'right'}"

    return _edit_batch(draw, partition, edit)


def _edit_record(draw: random.Random, records: list, number: int) -> str:
    record = records[number]
    match draw.choice(("number", "number", "number", "bytes", "remove", "insert", "twice", "lost")):
        case "number":
            place = draw.choice([n for n, (kind, _) in enumerate(record) if kind != "bytes"])
            kind, value = record[place]
            new = _interesting(draw, draw.choice((1, 4, 8)), value)
            record[place] = kind, new
            return f"field {place} {new}"
        case "bytes":
            place = draw.choice([n for n, (kind, _) in enumerate(record) if kind == "bytes"])
            record[place] = (
                "bytes",
                draw.choice((b"", b"\x80" * 11, b"\xff" * 5, draw.randbytes(6), record[place][1] * 2)),
            )
            return f"bytes {place}"
        case "remove":
            place = draw.randrange(len(record))
            del record[place]
            return f"without field {place}"
        case "insert":
            place = draw.randrange(len(record) + 1)
            record.insert(place, ("bytes", draw.choice((b"\0", b"\x80\x80\x80\x80\x80\x01", b"\x80" * 10 + b"\1"))))
            return f"bytes before field {place}"
        case "twice":
            records.insert(number, list(record))
            return "twice"
        case _:
            del records[number]
            return "lost"


def _edit_inner_message(draw: random.Random, batch: bytes) -> tuple[bytes, str]:
    """A message inside a wrapper of an old format."""
    messages = raw.inner_messages(batch)
    if messages is None:
        return batch[:-1] + bytes([batch[-1] ^ 1]), "last byte"
    inner, rest = raw.split(messages)
    if not inner:
        return batch, "nothing"
    number = draw.randrange(len(inner))
    match draw.choice(("field", "field", "cut", "lost", "wrapped")):
        case "field":
            name, (position, size) = draw.choice(list(raw.fields_of(inner[number]).items()))
            value = _interesting(draw, size, raw.number_at(inner[number], position, size))
            inner[number] = raw.with_number(inner[number], position, size, value)
            told = f"{name} {value}"
        case "cut":
            rest, told = inner.pop()[: draw.randrange(1, 26)], "the last one cut"
        case "lost":
            del inner[number]
            told = "lost"
        case _:
            inner[number], told = batch, "a wrapper inside"
    if draw.random() < REPAIRED and number < len(inner):
        inner[number] = raw.sealed(inner[number])
    return raw.with_inner_messages(batch, b"".join(inner) + rest), f"inner message {number}: {told}"


def _compressed_stream(draw: random.Random, partition: Path) -> str:
    """The stream of a compressed batch: bits, an end too early, bytes behind it, another codec's stream."""

    def edit(batch: bytes) -> tuple[bytes, str]:
        start = raw.V2_HEADER if raw.magic_of(batch) >= 2 else 30
        head, stream = batch[:start], bytearray(batch[start:])
        if not stream:
            return batch, "nothing"
        place = draw.randrange(min(len(stream), draw.choice((8, 32, len(stream)))))
        match draw.choice(("bit", "bit", "byte", "cut", "more", "other")):
            case "bit":
                stream[place] ^= 1 << draw.randrange(8)
            case "byte":
                stream[place] = draw.choice((0, 0x7F, 0x80, 0xFF))
            case "cut":
                del stream[place:]
            case "more":
                stream += draw.choice((b"\0", b"\xff" * 4, bytes(stream), draw.randbytes(9)))
            case _:
                head = raw.with_number(head, 22 if start == raw.V2_HEADER else 17, 1, draw.randrange(8))
        return raw.sized(head + bytes(stream)), f"stream at {place}"

    return _edit_batch(
        draw, partition, edit, want=lambda batch: raw.codec_of(batch) not in (None, raw.CompressionType.NONE)
    )


def _edit_batch(draw: random.Random, partition: Path, edit: Callable, want: Callable = lambda batch: True) -> str:
    """`edit` one batch of one segment; mostly the CRC is made right afterwards."""
    file = _a_file(draw, partition, ".log", ".log", ".log", ".checkpoint")
    if file is None:
        return "no file"
    batches, tail = raw.split(file.read_bytes())
    wanted = [n for n, batch in enumerate(batches) if len(batch) > 30 and want(batch)]
    wanted = wanted or [n for n, batch in enumerate(batches) if len(batch) > 30]
    if not wanted:
        return "no batch"
    number = draw.choice((wanted[0], wanted[-1], draw.choice(wanted)))
    batch, told = edit(batches[number])
    repaired = draw.random() < REPAIRED and not told.startswith("CRC")
    batches[number] = raw.sealed(batch) if repaired else batch
    file.write_bytes(b"".join(batches) + tail)
    return f"{file.name} batch {number}: {told}{'' if repaired else ', CRC left'}"


def _order_of_batches(draw: random.Random, partition: Path) -> str:
    """A batch twice, two in each other's place, one lost, one from another segment, offsets moved on."""
    file, other = (_a_file(draw, partition, ".log") for _ in range(2))
    if file is None:
        return "no file"
    batches, tail = raw.split(file.read_bytes())
    if not batches:
        return "no batch"
    one, two = draw.randrange(len(batches)), draw.randrange(len(batches))
    kind = draw.choice(("twice", "swapped", "lost", "foreign", "moved", "moved", "moved one"))
    match kind:
        case "twice":
            batches.insert(one, batches[one])
        case "swapped":
            batches[one], batches[two] = batches[two], batches[one]
        case "lost":
            del batches[one]
        case "foreign":
            batches.insert(one, draw.choice(raw.split(other.read_bytes())[0] or [b""]))
        case _:
            by = draw.choice((1, 7, 1000, -1, -30, 2**31 - 1, 2**31, 2**32, 2**40, 2**62))
            last = one + 1 if kind == "moved one" else len(batches)
            for n in range(one, last):
                batches[n] = raw.with_number(batches[n], 0, 8, raw.number_at(batches[n], 0, 8) + by)
            kind = f"{kind} by {by}"
    file.write_bytes(b"".join(batches) + tail)
    return f"{file.name} batch {one}: {kind}"


def _end_of_segment(draw: random.Random, partition: Path) -> str:
    """A segment cut, or with bytes behind or inside it: zeros, garbage, a part of itself."""
    file = _a_file(draw, partition, ".log")
    if file is None:
        return "no file"
    data = file.read_bytes()
    place = draw.choice((0, len(data), len(data), draw.randrange(len(data) + 1)))
    more = draw.choice(
        (bytes(1), bytes(11), bytes(17), bytes(18), bytes(61), bytes(400), b"garbage " * 20, data[: len(data) // 2],
         b"\xff" * 100, draw.randbytes(70), b"\0" * 8 + b"\x7f\xff\xff\xff" + b"\0" * 80)
    )  # fmt: skip
    if draw.random() < 0.45:
        file.write_bytes(data[:place])
        return f"{file.name} cut to {place} of {len(data)}"
    file.write_bytes(data[:place] + more + data[place:])
    return f"{file.name}: {len(more)} bytes at {place} of {len(data)}"


# ---- indexes, snapshots, texts


def _index_entry(draw: random.Random, partition: Path) -> str:
    """A field of an entry, or two entries in each other's place."""
    file = _a_file(draw, partition, *ENTRY_FIELDS)
    if file is None:
        return "no file"
    size, fields = ENTRY_FIELDS[file.suffix]
    data = file.read_bytes()
    count = min(len(data), 4096) // size
    if not count:
        return f"{file.name} has no entry"
    entry, (position, width) = draw.randrange(count), draw.choice(fields)
    if draw.random() < 0.15:
        data = data[size:] + data[:size]
        told = "rotated"
    else:
        place = entry * size + position
        number = _interesting(draw, width, raw.number_at(data, place, width))
        data, told = raw.with_number(data, place, width, number), f"entry {entry} byte {position}: {number}"
    file.write_bytes(data)
    return f"{file.name} {told}"


def _index_size(draw: random.Random, partition: Path) -> str:
    """An index or snapshot empty, torn, longer, full of one byte, far longer without data."""
    file = _a_file(draw, partition, *ENTRY_FIELDS, ".snapshot")
    if file is None:
        return "no file"
    data = file.read_bytes()
    kind = draw.choice(("empty", "torn", "longer", "zeros", "ones", "twice", "hole"))
    if kind == "hole":
        with open(file, "r+b") as opened:
            opened.truncate(draw.choice((5000, 65536, 10 * 2**20)))
    else:
        new = {
            "empty": b"",
            "torn": data[: -draw.randrange(1, 12)],
            "longer": data + draw.choice((b"abc", bytes(24), b"\1" * 34, draw.randbytes(50))),
            "zeros": bytes(len(data)),
            "ones": b"\xff" * len(data),
            "twice": data + data,
        }[kind]
        file.write_bytes(new)
    return f"{file.name} {kind}"


def _snapshot_field(draw: random.Random, partition: Path) -> str:
    """A field of a snapshot's header or of a producer; mostly the CRC is right."""
    file = _a_file(draw, partition, ".snapshot")
    if file is None:
        return "no file"
    data = file.read_bytes()
    count = (len(data) - 10) // SNAPSHOT_ENTRY
    kind = draw.choice(("header", "entry", "entry", "entry", "twice", "cut", "more"))
    if count < 1 and kind != "more":
        kind = "header"
    match kind:
        case "header":
            position, size = draw.choice(((0, 2), (2, 4), (6, 4)))
        case "entry":
            position, size = draw.choice(SNAPSHOT_FIELDS)
            position += 10 + draw.randrange(count) * SNAPSHOT_ENTRY
        case "twice":
            data = data[:6] + (count + 1).to_bytes(4, "big") + data[10:] + data[10 : 10 + SNAPSHOT_ENTRY]
        case "cut":
            data = data[: draw.randrange(len(data))]
        case _:
            data = data + draw.randbytes(draw.choice((1, SNAPSHOT_ENTRY)))
    told = kind
    if kind in ("header", "entry"):
        number = _interesting(draw, size, raw.number_at(data, position, size))
        data, told = raw.with_number(data, position, size, number), f"byte {position}: {number}"
    repaired = draw.random() < REPAIRED and len(data) >= 6
    if repaired:
        data = data[:2] + crc32c(data[6:]).to_bytes(4, "big") + data[6:]
    file.write_bytes(data)
    return f"{file.name} {told}{'' if repaired else ', CRC left'}"


def _partition_text(draw: random.Random, partition: Path) -> str:
    """The epochs or the topic id."""
    files = [f for name in ("leader-epoch-checkpoint", "partition.metadata") if (f := partition / name).is_file()]
    return _edit_text(draw, draw.choice(files)) if files else "no file"


def _edit_text(draw: random.Random, file: Path) -> str:
    text = file.read_bytes()
    lines = text.split(b"\n")
    place = draw.randrange(len(text) + 1)
    kind = draw.choice(("bit", "insert", "insert", "replace", "cut", "line lost", "line twice", "epochs", "empty"))
    match kind:
        case "bit" if place < len(text):
            text = text[:place] + bytes([text[place] ^ 1 << draw.randrange(8)]) + text[place + 1 :]
        case "insert" | "bit":
            text = text[:place] + draw.choice(TEXT_PARTS) + text[place:]
        case "replace":
            text = text[:place] + draw.choice(TEXT_PARTS) + text[place + draw.randrange(1, 4) :]
        case "cut":
            text = text[:place]
        case "line lost":
            del lines[draw.randrange(len(lines))]
            text = b"\n".join(lines)
        case "line twice":
            lines.insert(0, draw.choice(lines))
            text = b"\n".join(lines)
        case "epochs":
            numbers = [_interesting(draw, draw.choice((4, 8)), 3) for _ in range(draw.choice((0, 2, 4)))]
            pairs = [b"%d %d\n" % pair for pair in zip(numbers[::2], numbers[1::2], strict=True)]
            text = b"0\n%d\n" % len(pairs) + b"".join(pairs)
        case _:
            text = b""
    file.write_bytes(text)
    return f"{file.name} {kind} at {place}"


# ---- names of files


def _missing_files(draw: random.Random, partition: Path) -> str:
    """One file, all of a kind, or all of a segment gone."""
    files = [path for path in sorted(partition.iterdir()) if path.is_file()]
    if not files:
        return "no file"
    file = draw.choice(files)
    match draw.choice(("one", "one", "one", "kind", "segment")):
        case "kind":
            gone = [path for path in files if path.suffix == file.suffix]
        case "segment":
            gone = [path for path in files if path.stem == file.stem]
        case _:
            gone = [file]
    for path in gone:
        path.unlink()
    return " ".join(path.name for path in gone)


def _renamed_files(draw: random.Random, partition: Path) -> str:
    """A segment's files, all or some, on the way in or out, or at another offset."""
    files = [path for path in sorted(partition.iterdir()) if path.is_file() and path.suffix in SUFFIXES]
    if not files:
        return "no file"
    stem, told = draw.choice(files).stem, []
    state = draw.choice((*STATES, "offset"))
    offset = draw.choice(_offsets_of(partition))
    for path in files:
        if path.stem == stem and draw.random() < 0.8:
            new = f"{offset:020d}{path.suffix}" if state == "offset" else path.name + state
            path.rename(partition / new)
            told.append(f"{path.name} → {new}")
    return ", ".join(told)


def _added_file(draw: random.Random, partition: Path) -> str:
    """A file, directory or dangling link of a name that is known, nearly known or strange."""
    files = [path for path in sorted(partition.iterdir()) if path.is_file()]
    offset = f"{draw.choice(_offsets_of(partition)):020d}"
    name = draw.choice((draw.choice(ODD_NAMES), offset + draw.choice(SUFFIXES) + draw.choice(("", *STATES))))
    path = partition / name
    kind = draw.choice(("empty", "garbage", "copy", "copy", "directory", "link"))
    if os.path.lexists(path):
        return f"{name!r} is there"
    match kind:
        case "directory":
            path.mkdir()
        case "link":
            path.symlink_to("nowhere")
        case "copy" if files:
            shutil.copyfile(draw.choice(files), path)
        case "garbage":
            path.write_bytes(b"garbage " * draw.choice((1, 9)))
        case _:
            path.touch()
    return f"{name!r}, {kind}"


def _a_file(draw: random.Random, partition: Path, *suffixes: str) -> Path | None:
    """A file with one of the suffixes; the last of a kind is as likely as all others."""
    for _ in range(3):
        files = [path for path in sorted(partition.glob(f"*{draw.choice(suffixes)}")) if path.is_file()]
        if files:
            return draw.choice((files[-1], draw.choice(files)))
    return None


def _interesting(draw: random.Random, size: int, now: int) -> int:
    """A number of `size` bytes on which readers break, or one beside what stands there."""
    top = 1 << 8 * size - 1
    numbers = [0, 1, -1, 2, 3, top - 1, top - 2, -top, now + 1, now - 1, -now, now ^ 1 << draw.randrange(8 * size)]
    if size >= 4:
        numbers += [61, 127, 128, 4096, 2**20, 2**24, 2**30, now + 1000]
    if size == 8:
        numbers += [2**31 - 1, 2**31, 2**32, 2**40, now + 2**31 - 1, now + 2**31, now + 2**40, 2**63 - 1 - 2**31]
    return draw.choice(numbers)


DAMAGES: dict[Callable[[random.Random, Path], str], int] = {
    _batch_field: 18,
    _batch_attributes: 6,
    _batch_bytes: 5,
    _batch_length: 4,
    _records: 14,
    _compressed_stream: 6,
    _order_of_batches: 8,
    _end_of_segment: 8,
    _index_entry: 7,
    _index_size: 5,
    _snapshot_field: 8,
    _partition_text: 6,
    _log_dir_file: 3,
    _missing_files: 6,
    _renamed_files: 6,
    _added_file: 7,
}
"""Each kind of damage and how often it is drawn."""
