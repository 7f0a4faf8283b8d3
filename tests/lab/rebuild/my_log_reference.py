"""A log that passes the exam: the standard library and crc32c, nothing else."""

import os
import struct

import crc32c

BATCH = struct.Struct(">qiibIhiqqqhii")  # base offset … number of records
INDEX, TIME = struct.Struct(">ii"), struct.Struct(">qi")
PRODUCER = struct.Struct(
    ">qhiqiqiq"
)  # id, epoch, last sequence, last offset, offset delta, time, coordinator, open since
ABORTED = struct.Struct(">hqqqq")  # version, producer, first offset, marker's offset, last stable offset
TRANSACTIONAL, CONTROL = 0x10, 0x20


class Segment:
    def __init__(self, directory, base, settings):
        self.base, self.settings = base, settings
        self.path = os.path.join(directory, f"{base:020}")
        self.log = open(self.path + ".log", "a+b")
        self.size = os.path.getsize(self.path + ".log")
        self.entries, self.times = [], []
        self.since_entry, self.largest = 0, (-1, base)
        self.preallocate()

    def preallocate(self):
        for suffix, entry in ((".index", 8), (".timeindex", 12)):
            if not os.path.exists(self.path + suffix):
                with open(self.path + suffix, "wb") as file:
                    file.truncate(self.limit(entry) * entry)

    def limit(self, entry):
        return self.settings["segment.index.bytes"] // entry

    def load(self):
        """Take over the indexes of a closed segment."""
        with open(self.path + ".index", "rb") as file:
            self.entries = list(INDEX.iter_unpack(file.read()))
        with open(self.path + ".timeindex", "rb") as file:
            self.times = list(TIME.iter_unpack(file.read()))
        if self.times:
            self.largest = self.times[-1][0], self.base + self.times[-1][1]

    def is_full(self, incoming):
        return (
            self.size > self.settings["segment.bytes"] - incoming
            or len(self.entries) >= self.limit(8)
            or len(self.times) >= self.limit(12) - 1  # one is kept for the roll
        )

    def append(self, data):
        self.log.write(data)
        self.log.flush()
        self.index(data, self.size)
        self.size += len(data)

    def index(self, data, position):
        fields = BATCH.unpack_from(data)
        last, time = fields[0] + fields[6], fields[8]
        if time > self.largest[0]:
            self.largest = time, last
        if self.since_entry > self.settings["index.interval.bytes"]:
            self.entries.append((last - self.base, position))
            self.note_time()
            self.since_entry = 0
        self.since_entry += len(data)

    def note_time(self):
        if self.largest[0] > (self.times[-1][0] if self.times else -1):
            self.times.append((self.largest[0], self.largest[1] - self.base))

    def finish(self):
        """What a roll and a close do: the last timestamp, and files as long as their entries."""
        self.note_time()
        with open(self.path + ".index", "wb") as file:
            file.write(b"".join(INDEX.pack(*each) for each in self.entries))
        with open(self.path + ".timeindex", "wb") as file:
            file.write(b"".join(TIME.pack(*each) for each in self.times))

    def batches(self):
        self.log.seek(0)
        data, position = self.log.read(), 0
        while position + 61 <= len(data):
            size = 12 + struct.unpack_from(">i", data, position + 8)[0]
            if size < 61 or position + size > len(data):
                return
            yield position, data[position : position + size]
            position += size

    def recover(self):
        self.entries, self.times, self.since_entry, self.largest = [], [], 0, (-1, self.base)
        valid = 0
        for position, batch in self.batches():
            if crc32c.crc32c(batch[21:]) != struct.unpack_from(">I", batch, 17)[0]:
                break
            self.index(batch, position)
            valid = position + len(batch)
        self.note_time()
        self.since_entry = 0
        self.log.truncate(valid)
        self.size = valid


def marker_of(batch):
    """The kind of a control batch's one record: 0 aborts, 1 commits. Length, attributes and deltas have a byte each."""
    key = 61 + 4 + 1  # and the key's length
    return struct.unpack_from(">h", batch, key + 2)[0]


class MyLog:
    def __init__(self, directory, settings, clean):
        self.directory, self.settings = directory, settings
        bases = sorted(int(name[:20]) for name in os.listdir(directory) if name.endswith(".log"))
        self.segments = [Segment(directory, base, settings) for base in bases or [0]]
        for segment in self.segments:
            if not clean:
                segment.recover()
            elif bases:
                segment.load()
        self.end = self.segments[-1].base
        for _, batch in self.segments[-1].batches():
            fields = BATCH.unpack_from(batch)
            self.end = fields[0] + fields[6] + 1
        self.checkpoint = os.path.join(directory, "leader-epoch-checkpoint")
        self.epochs = []
        if os.path.exists(self.checkpoint):
            with open(self.checkpoint) as file:
                self.epochs = [tuple(map(int, line.split())) for line in file.read().split("\n")[2:] if line]
        self.producers = self.load_snapshot()

    def snapshots(self):
        return sorted(int(name[:20]) for name in os.listdir(self.directory) if name.endswith(".snapshot"))

    def snapshot(self, offset):
        return os.path.join(self.directory, f"{offset:020}.snapshot")

    def load_snapshot(self):
        """By producer id, what the newest snapshot knows; those where no segment begins go, but for one at the end."""
        bases = [segment.base for segment in self.segments]
        strays = [offset for offset in self.snapshots() if offset not in bases]
        for offset in strays:
            if offset != strays[-1] or offset < bases[-1]:
                os.remove(self.snapshot(offset))
        kept = self.snapshots()
        if not kept:
            return {}
        with open(self.snapshot(kept[-1]), "rb") as file:
            return {fields[0]: list(fields[1:]) for fields in PRODUCER.iter_unpack(file.read()[10:])}

    def take_snapshot(self):
        if self.end > max(self.snapshots(), default=0):
            entries = [PRODUCER.pack(producer, *known) for producer, known in sorted(self.producers.items())]
            body = struct.pack(">i", len(entries)) + b"".join(entries)
            with open(self.snapshot(self.end), "wb") as file:
                file.write(struct.pack(">hI", 1, crc32c.crc32c(body)) + body)

    def note_producer(self, batch):
        """What a batch that begins at the log's end says of its producer."""
        _, _, _, _, _, attributes, delta, _, time, producer, epoch, sequence, _ = BATCH.unpack_from(batch)
        if producer < 0:
            return
        known = self.producers.setdefault(producer, [epoch, -1, -1, 0, -1, -1, -1])
        if attributes & CONTROL:
            self.end_transaction(producer, known, aborted=marker_of(batch) == 0)
            known[4:] = time, 0, -1
        else:
            begun = self.end if attributes & TRANSACTIONAL and known[6] < 0 else known[6]
            known[:] = epoch, (sequence + delta) % 2**31, self.end + delta, delta, time, known[5], begun

    def end_transaction(self, producer, known, aborted):
        if aborted and known[6] >= 0:
            others = [each[6] for other, each in self.producers.items() if other != producer and each[6] >= 0]
            stable = min(others, default=self.end + 1)
            with open(self.segments[-1].path + ".txnindex", "ab") as file:
                file.write(ABORTED.pack(0, producer, known[6], self.end, stable))

    def append(self, batch, leader_epoch):
        if self.segments[-1].is_full(len(batch)):
            self.roll()
        offset, fields = self.end, BATCH.unpack_from(batch)
        if not self.epochs or leader_epoch > self.epochs[-1][0]:
            self.epochs.append((leader_epoch, offset))
            with open(self.checkpoint, "w") as file:
                lines = [0, len(self.epochs), *(f"{epoch} {start}" for epoch, start in self.epochs)]
                file.write("".join(f"{line}\n" for line in lines))
        self.segments[-1].append(struct.pack(">qii", offset, fields[1], leader_epoch) + batch[16:])
        self.note_producer(batch)
        self.end = offset + fields[6] + 1
        return offset

    def roll(self):
        if self.segments[-1].size:
            self.segments[-1].finish()
            self.take_snapshot()
            self.segments.append(Segment(self.directory, self.end, self.settings))

    def read(self, offset, max_bytes):
        for segment in reversed(self.segments):
            if segment.base <= offset:
                break
        for position, batch in segment.batches():
            fields = BATCH.unpack_from(batch)
            if fields[0] + fields[6] >= offset:
                segment.log.seek(position)
                return segment.log.read(max(max_bytes, len(batch)))
        return b""

    def close(self):
        for segment in self.segments:
            segment.finish()
        self.take_snapshot()
