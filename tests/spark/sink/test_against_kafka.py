"""The files are those of Kafka: of its log, given the same batches; of a broker that a producer sent the records to."""

import random

import pytest

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.uuid import random_uuid
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from minikafka.witness.kafka.kafka_log import KafkaLog
from tests.kafka_clients import KafkaClients
from tests.spark.rows import rows
from tests.spark.sink.writing import NOW, files, row, write

pytestmark = pytest.mark.slow

CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
SMALL = {"internal.segment.bytes": 3000, "index.interval.bytes": 250}


def drawn_rows(draw: random.Random, count: int, *, gaps: bool) -> list[dict]:
    """Rows of every kind; with `gaps` they have offsets."""
    offset, drawn = draw.choice((0, 5, 2**33)), []
    for number in range(count):
        headers = [(draw.choice(("h", "é", "")), draw.choice((None, b"", b"\xff")))] * draw.choice((0, 0, 1, 2))
        more = {"offset": offset} if gaps else {}
        drawn.append(
            row(
                draw.choice((None, b"", draw.randbytes(draw.randrange(300)))),
                draw.choice((None, b"", b"key %d" % number)),
                timestamp=draw.choice((NOW, NOW + number, NOW - 500, -1)),
                headers=draw.choice((None, headers)),
                **more,
            )
        )
        offset += draw.choice((1, 1, 1, 9, 3000))
    return drawn


def seen(row: dict) -> tuple:
    headers = tuple((pair["key"], pair["value"]) for pair in row["headers"] or ())
    timestamp = row["timestamp"]
    timestamp = timestamp if isinstance(timestamp, int) else round(timestamp.timestamp() * 1_000_000)
    return row["key"], row["value"], timestamp, headers


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_is_read_and_written_again_as_the_same_files(tmp_path, seed):
    draw = random.Random(seed)
    gaps = draw.random() < 0.5
    given = drawn_rows(draw, draw.randrange(1, 300), gaps=gaps)
    options = {
        "batch__size": draw.choice((100, 1000, 2000)),
        "settings": {**SMALL, "compression.type": draw.choice(CODECS)},
        "topicId": random_uuid(),
        "leaderEpoch": draw.randrange(3),
    }
    write(tmp_path / "a", given, rows_a_batch=draw.choice((1, 7, 100)), **options)
    read = rows(tmp_path / "a", includeHeaders=True)
    assert [seen(each) for each in read] == [seen(each) for each in given]
    assert [each["offset"] for each in read] == [each.get("offset", place) for place, each in enumerate(given)]
    again = [
        {name: each[name] for name in ("key", "value", "headers", "timestamp", "partition", "offset")} for each in read
    ]
    write(tmp_path / "b", again, **options)
    assert files(tmp_path / "b") == files(tmp_path / "a")


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "more",
    [{}, {"message.timestamp.type": "LogAppendTime"}, {"segment.ms": 400}, {"segment.index.bytes": 40}],
    ids=lambda more: "".join(more),
)
@pytest.mark.parametrize("gaps", [False, True], ids=["", "gaps"])
def test_kafkas_log_makes_the_same_files_of_the_same_batches(kafka, tmp_path, codec, more, gaps):
    settings = {**SMALL, **more, "compression.type": codec}
    topic_id, epoch = random_uuid(), 3
    given = drawn_rows(random.Random(codec), 150, gaps=gaps)
    write(
        tmp_path / "ours", given, settings=settings, topicId=topic_id, leaderEpoch=epoch, batch__size=500,
        rows_a_batch=40,
    )  # fmt: skip
    ours = tmp_path / "ours" / "t-0"
    assert len(list(ours.glob("*.log"))) > 3

    clock = ManualTime(NOW)
    theirs = tmp_path / "theirs" / "t-0"
    start = given[0].get("offset", 0)
    scheduler = ManualScheduler(clock)
    log = KafkaLog.create(
        kafka, theirs, settings, log_start_offset=start, scheduler=scheduler, time=clock, topic_id=topic_id
    )
    as_leader = not gaps and "message.timestamp.type" not in more  # a leader leaves no gaps and takes its own time
    for file in sorted(ours.glob("*.log")):
        for batch in MemoryRecords(file.read_bytes()).batches():
            data = bytes(batch.buffer)
            if as_leader:  # as a producer sends it
                log.append_as_leader(bytes(8) + data[8:12] + b"\xff" * 4 + data[16:], epoch)
            else:
                log.append_as_follower(data, epoch)
    log.close()
    assert files(theirs) == files(ours)


@pytest.mark.slow
def test_a_broker_has_the_same_files_when_a_producer_sent_the_records(kafka, tmp_path):
    """The batches too are a producer's: those that `batch.size` makes full."""
    draw = random.Random(4)
    given = [each for each in drawn_rows(draw, 500, gaps=False) if each["timestamp"] > 0]
    settings = {"internal.segment.bytes": "9000", "index.interval.bytes": "900", "retention.ms": "-1"}
    with KafkaBroker(tmp_path / "home") as broker:
        clients = KafkaClients(kafka, broker.bootstrap_servers)
        clients.create_topic("t", settings)
        producer = clients.producer(enable_idempotence=False, batch_size=2000, linger_ms=30_000)
        records = [(timestamp // 1000, key, value, headers) for key, value, timestamp, headers in map(seen, given)]
        clients.send(producer, "t", records)
        producer.close()
    theirs = broker.log_dir / "t-0"
    topic_id = (theirs / "partition.metadata").read_text().rpartition(" ")[2]
    write(tmp_path / "ours", given, settings=settings, topicId=topic_id, batch__size=2000)
    assert len(list(theirs.glob("*.log"))) > 2
    assert files(tmp_path / "ours" / "t-0") == files(theirs)
