"""A log beside Kafka's, where that is no effect script (`tests/scripts`): settings, codecs, logs that are closed."""

import pytest


def test_each_codec(two_logs):
    """No effect script: what the machine's zlib makes of the records differs from machine to machine."""
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        text = f"append_as_leader [5x100 codec={codec} keys=3 headers=2 ts=now,now-7]"
        two_logs().do(text.replace("codec=none ", ""))


@pytest.mark.parametrize(
    "config",
    [
        {"preallocate": "true"},
        {"message__timestamp__type": "LogAppendTime"},
        {"compression__type": "uncompressed"},
        {"cleanup__policy": "compact"},
        {"flush__messages": 3},
        {"segment__index__bytes": 12},
        {"index__interval__bytes": 0},
        {"max__message__bytes": 150},
    ],
    ids=lambda config: "{}={}".format(*next(iter(config.items()))).replace("__", "."),
)
def test_settings(two_logs, config):
    two_logs(**config).do(
        "append_as_leader [3x10 keys=2 ts=now-5]",
        "append_as_leader [3x10]",
        "append_as_leader [3x20 keys=2 codec=gzip ts=now-9]",
        "tick 5",
        "append_as_leader [2x60 keys=2 pid=7 epoch=0 seq=0]",
        "append_as_leader [2x60 keys=2 pid=7 epoch=0 seq=0]",
        "append_as_leader [3x60 keys=2]",
        "append_as_leader [3x60 keys=2 codec=gzip]",
        "tick 0",
        "update_high_watermark leo",
        "delete_old_segments",
        "reopen",
        "append_as_leader [3x60 keys=2]",
        "reopen clean=false",
        "truncate_to 7",
    )


_INT, _LONG = 2**31 - 1, 2**63 - 1
_NOW = 1_700_000_000_000
_ENDS = {
    "segment__ms": (1, _LONG), "segment__jitter__ms": (0, _LONG), "retention__ms": (-1, 0, 1, _LONG),
    "retention__bytes": (-1, 0, 1, _LONG), "min__compaction__lag__ms": (0, 1, _LONG),
    "max__compaction__lag__ms": (1, _LONG), "delete__retention__ms": (0, 1, _LONG - _NOW, _LONG),
    "file__delete__delay__ms": (0, 1, _LONG), "flush__ms": (0, _LONG), "flush__messages": (1, _LONG),
    "message__timestamp__before__max__ms": (0, _LONG), "message__timestamp__after__max__ms": (0, _LONG),
    "index__interval__bytes": (0, _INT), "segment__index__bytes": (12,), "max__message__bytes": (0, _INT),
    "min__cleanable__dirty__ratio": (0, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", _ENDS)
def test_settings_at_the_ends_of_what_they_may_be(two_logs, name):
    for value in _ENDS[name]:
        two_logs(**{"cleanup__policy": "compact,delete", "min__cleanable__dirty__ratio": 0, name: value}).do(
            "append_as_leader [3x10 keys=3]",
            "append_as_leader [3x10,null,10 keys=3 ts=now-1000000]",
            "append_as_leader [1xnull keys=3 data=2]",
            "update_high_watermark leo",
            "tick 10",
            "append_as_leader [2x90 keys=9 data=7]",
            "roll",
            "update_high_watermark leo",
            "clean",
            "delete_old_segments",
            "tick 100",
            "append_as_leader [2x90 keys=9 data=7]",
            "update_high_watermark leo",
            "delete_old_segments",
            "tick 60000",
            "clean",
            "reopen clean=false",
            "update_high_watermark leo",
            "delete_old_segments",
            "consume",
        )


def test_a_log_that_is_being_deleted_is_not_recovered(two_logs):
    logs = two_logs("topic-0.0123456789abcdef-delete")
    logs.do("append_as_leader [3x10]", "reopen clean=false", "reopen")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("append_as_leader [3x10]", ("KafkaStorageException", "Error while rolling log segment for topic-0 in dir")),
        ("roll", ("KafkaStorageException", "Error while rolling log segment for topic-0 in dir")),
        ("flush", ("KafkaStorageException", "Error while flushing log for topic-0 in dir")),
        ("truncate_to 2", ("NullPointerException", "")),
        ("truncate_fully_and_start_at 9", ("", "")),
        ("maybe_increment_log_start_offset 1", ("", "")),
        ("delete_old_segments", ("", "")),
        ("read 0", ("NullPointerException", "")),
        ("fetch_offset_by_timestamp 1", ("NullPointerException", "")),
        ("take_producer_snapshot", ("", "")),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else "",
)
def test_operations_on_a_log_after_its_close(two_logs, line, told):
    """No state says that a log was closed: each of them comes as far as it can without the files."""
    logs = two_logs()
    logs.do("append_as_leader [3x10]", "append_as_leader [3x10]", "update_high_watermark leo")
    for runner in logs.runners:
        runner.log.close()
    done = logs.do(line)
    assert done.error == told[0] and done.message.startswith(told[1])


def test_operations_on_a_log_whose_directory_is_offline(two_logs):
    logs = two_logs()
    logs.do("append_as_leader [3x10]")
    for runner in logs.runners:
        runner.log.close_handlers()
    for line in (
        "append_as_leader [3x10]",
        "roll",
        "truncate_to 0",
        "truncate_to 5",
        "flush",
        "maybe_increment_log_start_offset 0",
        "read 0 isolation=high_watermark",
        "take_producer_snapshot",
        "truncate_fully_and_start_at 9",
    ):
        logs.do(line)
