"""A log that passes the exam: the standard library and crc32c, nothing else."""

import os
import struct

import crc32c

BATCH = struct.Struct(">qiibIhiqqqhii")  # base offset … number of records
INDEX, TIME = struct.Struct(">ii"), struct.Struct(">qi")


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
        self.end = offset + fields[6] + 1
        return offset

    def roll(self):
        if self.segments[-1].size:
            self.segments[-1].finish()
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
