"""What the `Kafka:` line of a docstring names."""

import pytest

from minikafka.twins.twin_name import twin_names


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Kafka: `UnifiedLog.append`.", ["UnifiedLog.append"]),
        ("Where the log ends. Kafka: `LocalLog.logEndOffset`.", ["LocalLog.logEndOffset"]),
        (
            "Kafka: `org.apache.kafka.common.utils.Time`, `SystemTime`.",
            ["org.apache.kafka.common.utils.Time", "SystemTime"],
        ),
        ("Kafka: `ByteUtils.writeVarint`, `writeVarlong`.", ["ByteUtils.writeVarint", "ByteUtils.writeVarlong"]),
        ("Kafka: `LeaderEpochFileCache.assign(int, long)`.", ["LeaderEpochFileCache.assign(int, long)"]),
        ("Kafka: `ApiError(Errors)`.", ["ApiError.ApiError(Errors)"]),
        ("Kafka: `TopicDelta.replay()`.", ["TopicDelta.replay()"]),
        ("Kafka: `AbortedTxn.TOTAL_SIZE`.", ["AbortedTxn.TOTAL_SIZE"]),
        ("Kafka: `LogValidator.ValidationResult`.", ["LogValidator.ValidationResult"]),
        ("Kafka: `Utils.toPositive(Utils.murmur2(data))`.", ["Utils.toPositive"]),
        ("Kafka: `LogManager`, its field `logsToBeDeleted`.", ["LogManager", "LogManager.logsToBeDeleted"]),
        ("Kafka: `A.outer.inner`.", ["A.inner"]),
        ("Kafka: `A.b`. Raises `ValueError` where it fails.", ["A.b"]),
        ("Kafka: none. `LogManager` has one log.", []),
        ("What is simpler than in Kafka: there are no `Metrics`.", []),
        ("No line at all, but `UnifiedLog.append`.", []),
    ],
)
def test_names(line, names):
    assert [str(name) for name in twin_names(f"First.\n\n{line}\n\nAnother `Thing.of` that is none.")] == names


def test_a_method_alone_belongs_to_the_twin_of_the_class_around():
    assert list(map(str, twin_names("Kafka: `.shutdown`.", "Timer"))) == ["Timer.shutdown"]
    assert twin_names("Kafka: `.shutdown`.") == []
