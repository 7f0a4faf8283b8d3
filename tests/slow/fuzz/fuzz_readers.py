"""`make fuzz-bytes`: inputs guided by coverage into every reader of bytes; nothing but Kafka's exceptions may come out.

The first byte of an input chooses the reader, the rest is the file or buffer. Batches are read as they are, and once
more with their size and checksum made right, so that the damage is met behind them. Memory is limited to what small
inputs may ask for. Options are libFuzzer's: `-runs=N`, `-max_total_time=SECONDS`, `-seed=N`, or a file with an input to
repeat.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import atheris

# The kernel stays plain Python, which coverage can guide through; the compiled one is the same source.
sys.modules["minikafka.record.kernels.compiled_kernel"] = None

with atheris.instrument_imports(include=["minikafka"]):
    import crc32c

    from minikafka.checkpoint.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
    from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
    from minikafka.checkpoint.partition_metadata_file import PartitionMetadataFile
    from minikafka.log.index.offset_index import OffsetIndex
    from minikafka.log.index.time_index import TimeIndex
    from minikafka.log.index.transaction_index import TransactionIndex
    from minikafka.log.producer.snapshot_file import read_snapshot
    from minikafka.record.files.file_records import FileRecords
    from minikafka.record.format.log_input_stream import batches

GOLDEN = Path(__file__).parents[2] / "golden"
MEMORY_MB = 1024
SCRATCH = Path(os.environ.get("MINIKAFKA_FUZZ_SCRATCH", "."))


def kafkas(read) -> object:
    """What `read` gives; None if it raised one of Kafka's (or Java's) exceptions."""
    try:
        return read()
    except Exception as failure:
        if not type(failure).__module__.startswith("minikafka."):
            raise
        return None


def use(found) -> None:
    """Read all that can be read of each batch."""
    for batch in found or ():
        kafkas(lambda: batch.ensure_valid())
        kafkas(lambda: batch.columns())
        kafkas(lambda: [(record.key, record.value, record.headers) for record in batch])


def batches_in_memory(data: bytes) -> None:
    use(kafkas(lambda: list(batches(bytearray(data)))))


def mended_batch(data: bytes) -> None:
    if len(data) < 61:
        return
    batch = bytearray(data)
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[16] = 2
    batch[17:21] = crc32c.crc32c(bytes(batch[21:])).to_bytes(4, "big")
    use(kafkas(lambda: list(batches(batch))))


def batches_in_file(data: bytes) -> None:
    records = FileRecords.open(a_file("00000000000000000000.log", data), mutable=False)
    try:
        use(kafkas(lambda: list(records.batches())))
        kafkas(lambda: records.search_for_offset_from_position(1, 0))
        kafkas(lambda: records.search_for_timestamp(1, 0, 0))
    finally:
        records.close_handlers()


def index_reader(cls, name: str):
    def read(data: bytes) -> None:
        index = kafkas(lambda: cls(a_file(name, data), 0, writable=False))
        if index is None:
            return
        try:
            kafkas(index.sanity_check)
            for target in (0, 1, 2**31, 2**62):
                kafkas(lambda: index.lookup(target))
        finally:
            index.close_handler()

    return read


def transaction_index(data: bytes) -> None:
    index = TransactionIndex(0, a_file("00000000000000000000.txnindex", data))
    try:
        kafkas(index.sanity_check)
        kafkas(index.all_aborted_txns)
        kafkas(lambda: index.collect_aborted_txns(0, 2**62))
    finally:
        index.close()


def snapshot(data: bytes) -> None:
    kafkas(lambda: read_snapshot(a_file("00000000000000000007.snapshot", data)))


def mended_snapshot(data: bytes) -> None:
    if len(data) >= 6:
        body = data[6:]
        snapshot(b"\x00\x01" + crc32c.crc32c(body).to_bytes(4, "big") + body)


def checkpoint(cls, name: str):
    return lambda data: kafkas(lambda: cls(a_file(name, data)).read())


def a_file(name: str, data: bytes) -> Path:
    path = SCRATCH / name
    path.write_bytes(data)
    return path


READERS = {
    ".log": [batches_in_memory, mended_batch, batches_in_file],
    ".index": [index_reader(OffsetIndex, "00000000000000000000.index")],
    ".timeindex": [index_reader(TimeIndex, "00000000000000000000.timeindex")],
    ".txnindex": [transaction_index],
    ".snapshot": [snapshot, mended_snapshot],
    "leader-epoch-checkpoint": [checkpoint(LeaderEpochCheckpointFile, "leader-epoch-checkpoint")],
    "offset-checkpoint": [checkpoint(OffsetCheckpointFile, "recovery-point-offset-checkpoint")],
    "partition.metadata": [checkpoint(PartitionMetadataFile, "partition.metadata")],
}
ALL = [reader for readers in READERS.values() for reader in readers]


def one_input(data: bytes) -> None:
    """Give the input to the reader that its first byte names."""
    if data:
        ALL[data[0] % len(ALL)](data[1:])


def write_seeds(corpus: Path) -> int:
    """The files of the golden directories (their beginnings) as first inputs, for each of their readers."""
    count = 0
    for path in sorted(GOLDEN.rglob("*")):
        for ending, readers in READERS.items():
            if path.is_file() and path.name.endswith(ending):
                for reader in readers:
                    seed = bytes([ALL.index(reader)]) + path.read_bytes()[:4000]
                    (corpus / f"seed-{count}").write_bytes(seed)
                    count += 1
    return count


def fuzz(options: list[str]) -> None:
    """Run libFuzzer, which ends this process."""
    corpus = SCRATCH / "corpus"
    corpus.mkdir()
    print(f"{write_seeds(corpus)} first inputs for {len(ALL)} readers", flush=True)
    limits = [f"-rss_limit_mb={MEMORY_MB}", f"-malloc_limit_mb={MEMORY_MB // 4}", "-max_len=4096"]
    repeated = any(not option.startswith("-") for option in options)
    corpora = [] if repeated else [str(corpus)]
    atheris.Setup([sys.argv[0], *limits, "-verbosity=0", "-print_final_stats=1", *options, *corpora], one_input)
    atheris.Fuzz()


def main() -> None:
    """Run this file again, in a process that libFuzzer may end, with a directory that is removed afterwards."""
    options = sys.argv[1:] or ["-runs=100000"]
    if "MINIKAFKA_FUZZ_SCRATCH" in os.environ:
        return fuzz(options)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="minikafka-fuzz-", dir=memory) as scratch:
        environment = {**os.environ, "MINIKAFKA_FUZZ_SCRATCH": scratch}
        sys.exit(subprocess.run([sys.executable, __file__, *options], env=environment).returncode)


if __name__ == "__main__":
    main()
