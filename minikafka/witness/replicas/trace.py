"""Workloads of brokers as Spark DataFrames: what they are asked, and nothing that comes of it.

Each row has the number of its `workload`: several are answered at once. Sizes of batches come from their builder;
offsets stand as the workload writes them, because the queries work out where they fall.
"""

from collections.abc import Iterator, Sequence

from minikafka.common.java.java_hash import java_hash
from minikafka.common.topic_partition import TopicPartition
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.dataframes import local_frame
from minikafka.witness.log.views import DEFAULTS
from minikafka.witness.replicas.workload import ReplicaOperation, ReplicaWorkload, Target

TARGET = """
    partition STRING COMMENT 'the partition that is asked for',
    anchor STRING COMMENT 'where the offset counts from: leo, hw, …; empty for a plain number',
    distance BIGINT COMMENT 'the offset, or its distance from the anchor',
    epoch BIGINT COMMENT 'fetch: the leader epoch that the replica knows, −1 for none',
    last BIGINT COMMENT 'fetch: the epoch of its last record, −1 for none',
    batches BIGINT COMMENT 'produce: how many batches',
    records BIGINT COMMENT 'produce: records of the first batch, and so on',
    bytes BIGINT,
    earliest BIGINT COMMENT 'the smallest timestamp in ms, of those that are not −1',
    latest BIGINT,
    undated BOOLEAN COMMENT 'a record has the timestamp −1',
    keyless BOOLEAN COMMENT 'a record has no key',
    log_append_time BOOLEAN COMMENT 'the batch claims log append time',
    damaged BOOLEAN,
    zstd BOOLEAN,
    producer BOOLEAN COMMENT 'the batch is from an idempotent producer, or a marker'
"""

OPERATIONS = f"""
    workload BIGINT COMMENT 'number of the workload',
    op BIGINT COMMENT 'number of the operation, from 0',
    kind STRING COMMENT 'its name',
    broker BIGINT COMMENT 'who does it, or is asked',
    now BIGINT COMMENT 'the clock before it, in ms',
    ms BIGINT COMMENT 'sleep: ms that pass',
    acks BIGINT,
    timeout BIGINT COMMENT 'produce: ms that it may wait',
    version BIGINT COMMENT 'of the request',
    replica BIGINT COMMENT 'fetch: the follower, negative for a consumer',
    replica_epoch BIGINT COMMENT 'fetch: the broker epoch that the follower says it has',
    error STRING COMMENT 'answer: what the controller says to each proposal',
    whole STRING COMMENT 'answer: what it says to the request as a whole',
    topic STRING COMMENT 'topic, delete_topic, settings: its name',
    partition STRING COMMENT 'change: the partition',
    isr ARRAY<BIGINT> COMMENT 'change: the in-sync replicas, null: not given',
    elects BOOLEAN COMMENT 'change: it is about more than the in-sync replicas',
    targets ARRAY<STRUCT<{TARGET}>>
"""

PARTITIONS = """
    workload BIGINT,
    made BIGINT COMMENT 'the operation that makes its topic',
    topic STRING,
    partition STRING,
    leader BIGINT COMMENT 'the first of its replicas',
    followers ARRAY<BIGINT> COMMENT 'the others',
    turn BIGINT COMMENT 'its place when a broker walks over its partitions: its slot in Java''s map; all 0: not known',
    one_segment BOOLEAN COMMENT 'nothing is set that makes its log roll or lose segments',
    lag_ms BIGINT COMMENT 'replica.lag.time.max.ms',
    fits BOOLEAN COMMENT 'one fetch can carry everything that is ever appended'
"""

SETTINGS = """
    workload BIGINT,
    op BIGINT COMMENT 'the operation since which the topic has these settings',
    topic STRING,
    min_isr BIGINT COMMENT 'min.insync.replicas',
    max_bytes BIGINT COMMENT 'the largest batch',
    before_max_ms BIGINT,
    after_max_ms BIGINT,
    stamped BOOLEAN COMMENT 'the leader writes its own time',
    compacted BOOLEAN COMMENT 'records need keys',
    deletes BOOLEAN COMMENT 'records may be deleted'
"""

_SLOTS = 16
_SMALL_MAP = 12
"""Java's hash map has so many slots as long as it has at most so many entries."""

_ROLLING = frozenset(
    "internal.segment.bytes segment.bytes segment.ms segment.index.bytes segment.jitter.ms retention.ms"
    " retention.bytes compression.type".split()
)


def create_views(workloads: Sequence[ReplicaWorkload], spark) -> None:
    """Make the temporary views `replica_operations`, `replica_partitions` and `replica_settings` of all workloads."""
    operations, partitions, settings = [], [], []
    for workload_number, workload in enumerate(workloads):
        operations += _operation_rows(workload_number, workload)
        settings += _settings_rows(workload_number, workload)
        partitions += _partition_rows(workload_number, workload)
    for name, rows, schema in (
        ("replica_operations", operations, OPERATIONS),
        ("replica_partitions", partitions, PARTITIONS),
        ("replica_settings", settings, SETTINGS),
    ):
        local_frame(spark, rows, schema).createOrReplaceTempView(name)


def _clock(workload: ReplicaWorkload) -> Iterator[tuple[int, int, ReplicaOperation]]:
    """(number, clock before it in ms, operation) of each operation."""
    now = workload.start_ms
    for number, operation in enumerate(workload):
        yield number, now, operation
        now += int(operation.arguments[0]) if operation.kind == "sleep" else 0


def _operation_rows(workload_number: int, workload: ReplicaWorkload) -> list[tuple]:
    rows = []
    for number, now, operation in _clock(workload):
        kind, (first, *_) = operation.kind, operation.arguments
        option = lambda name: operation.number(name)  # noqa: B023, E731
        has = lambda *kinds: kind in kinds  # noqa: B023, E731
        changes = has("change")
        rows.append(
            (
                workload_number,
                number,
                kind,
                None if has("sleep", "topic", "delete_topic", "settings", "change") else int(first),
                now,
                int(first) if has("sleep") else 0,
                option("acks") if has("produce", "append") else None,
                option("timeout") if has("produce", "append") else None,
                option("version") if has("produce", "fetch") else None,
                option("replica") if has("fetch") else None,
                option("replica_epoch") if has("fetch") else None,
                operation.option("error") if has("answer") else None,
                operation.option("whole") if has("answer") else None,
                first if has("topic", "delete_topic", "settings") else None,
                first if changes else None,
                operation.numbers("isr") if changes else None,
                changes and bool(operation.options.keys() - {"isr"}),
                [_target_row(target, now) for target in operation.targets],
            )
        )
    return rows


def _target_row(target: Target, now: int) -> tuple:
    batch = target.batches[0] if target.batches else Batch()
    times = [time for time in batch.timestamps(now) if time != -1]
    return (
        target.partition,
        *target.offset,
        target.option("epoch"),
        target.option("last"),
        len(target.batches),
        batch.count,
        sum(batch.size_in_bytes(now) for batch in target.batches),
        min(times, default=None),
        max(times, default=None),
        len(times) < batch.count,
        not batch.keys,
        batch.log_append_time,
        bool(batch.damage),
        batch.codec == "zstd",
        batch.pid >= 0 or bool(batch.marker),
    )


def _partition_rows(workload_number: int, workload: ReplicaWorkload) -> list[tuple]:
    """The partitions of each topic, as it is made first."""
    broker = workload.settings
    appended = sum(
        batch.size_in_bytes(now)
        for _, now, operation in _clock(workload)
        for target in operation.targets
        for batch in target.batches
    )
    limits = (
        int(broker.get("replica.fetch.max.bytes", 1_048_576)),
        int(broker.get("replica.fetch.response.max.bytes", 10_485_760)),
    )
    lag_ms = int(broker.get("replica.lag.time.max.ms", 30_000))
    made = [operation.arguments[1] for operation in workload if operation.kind == "topic"]
    is_small = sum(assignment.count("/") + 1 for assignment in made) <= _SMALL_MAP
    rows: dict[str, list[tuple]] = {}
    for number, operation in enumerate(workload):
        if operation.kind != "topic" or operation.arguments[0] in rows:
            continue
        topic, assignment = operation.arguments
        settings = {
            name
            for each in workload
            if each.kind in ("topic", "settings") and each.arguments[0] == topic
            for name in each.options
        }
        rows[topic] = [
            (
                workload_number,
                number,
                topic,
                f"{topic}-{place}",
                leader,
                sorted(followers),
                java_hash(TopicPartition(topic, place)) % _SLOTS if is_small else 0,
                not settings & _ROLLING,
                lag_ms,
                appended <= min(limits),
            )
            for place, (leader, *followers) in enumerate(
                [int(replica) for replica in replicas.split(",")] for replicas in assignment.split("/")
            )
        ]
    return [row for of_topic in rows.values() for row in of_topic]


def _settings_rows(workload_number: int, workload: ReplicaWorkload) -> list[tuple]:
    """A topic's settings, each time when some of them change."""
    topics: dict[str, dict[str, str]] = {}
    rows = []
    for number, operation in enumerate(workload):
        if operation.kind not in ("topic", "settings"):
            continue
        config = topics.setdefault(operation.arguments[0], {})
        for name, value in operation.options.items():
            config[name] = value
            if value == "-":
                del config[name]
        policy = config.get("cleanup.policy", "delete").split(",")
        segment_bytes = int(config.get("internal.segment.bytes", config.get("segment.bytes", 1_073_741_824)))
        number_of = lambda name: int(config.get(name, DEFAULTS[name]))  # noqa: B023, E731
        rows.append(
            (
                workload_number,
                number,
                operation.arguments[0],
                int(config.get("min.insync.replicas", 1)),
                min(number_of("max.message.bytes"), segment_bytes),
                number_of("message.timestamp.before.max.ms"),
                number_of("message.timestamp.after.max.ms"),
                config.get("message.timestamp.type", "CreateTime") == "LogAppendTime",
                "compact" in policy,
                "delete" in policy,
            )
        )
    return rows
