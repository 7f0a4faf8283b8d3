"""A topic's settings, alone and beside Kafka's LogConfig: names, defaults, what is accepted and how it is parsed."""

import pytest

from minikafka.common.errors import ConfigException, InvalidConfigurationException
from minikafka.log.log import Log
from minikafka.log.log_config import CONFIG, LogConfig
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.witness.kafka.kafka_errors import kafka_errors
from tests.kafka_answers import plain


def test_the_defaults_that_a_log_lives_by():
    config = LogConfig()
    assert (config.segment_size, config.segment_ms, config.segment_jitter_ms) == (2**30, 604_800_000, 0)
    assert (config.max_index_size, config.index_interval) == (10_485_760, 4096)
    assert (config.retention_size, config.retention_ms) == (-1, 604_800_000)
    assert (config.flush_interval, config.flush_ms) == (2**63 - 1, 2**63 - 1)
    assert (config.max_message_size, config.file_delete_delay_ms) == (1_048_588, 60_000)
    assert (config.delete, config.compact, config.compression) == (True, False, None)
    assert config.message_timestamp_type is TimestampType.CREATE_TIME
    assert (config.message_timestamp_before_max_ms, config.message_timestamp_after_max_ms) == (2**63 - 1, 3_600_000)


def test_internal_segment_bytes_goes_below_the_limit_of_segment_bytes():
    with pytest.raises(ConfigException, match="Invalid value 1000 for configuration segment.bytes: Value must be at"):
        LogConfig({"segment.bytes": 1000})
    assert LogConfig({"segment.bytes": "1048576", "internal.segment.bytes": 1000}).segment_size == 1000


def test_preallocated_files_begin_with_a_whole_segment():
    assert LogConfig({"preallocate": True, "internal.segment.bytes": 5000}).init_file_size == 5000
    assert LogConfig({"internal.segment.bytes": 5000}).init_file_size == 0


def test_compaction_lag_bounds_the_age_of_a_segment_of_a_compacted_topic_only():
    settings = {"max.compaction.lag.ms": 10, "segment.ms": 1000}
    assert LogConfig(settings).max_segment_ms == 1000
    assert LogConfig(settings | {"cleanup.policy": "compact,delete"}).max_segment_ms == 10


def test_jitter_is_drawn_below_both_limits():
    assert LogConfig().random_segment_jitter() == 0
    config = LogConfig({"segment.jitter.ms": 100, "segment.ms": 7})
    assert {config.random_segment_jitter() for _ in range(500)} == set(range(7))


def test_compression_types_and_levels():
    for name, compression_type in (("snappy", CompressionType.SNAPPY), ("uncompressed", CompressionType.NONE)):
        assert LogConfig({"compression.type": name}).compression.type is compression_type
    assert LogConfig({"compression.type": "gzip", "compression.gzip.level": 4}).compression.level == 4
    assert LogConfig({"compression.type": "zstd", "compression.zstd.level": "-5"}).compression.level == -5


@pytest.mark.parametrize(
    "settings",
    [
        {"retention.bytes": None},
        {"preallocate": None},
        {"segment.ms": None},
        {"segment.bytes": 2**31},
        {"segment.bytes": 1.5e6},
        {"segment.bytes": True},
        {"retention.ms": 2**63},
        {"preallocate": 1},
        {"compression.type": 3},
        {"cleanup.policy": 3},
        {"cleanup.policy": ["delete", "x"]},
        {"min.cleanable.dirty.ratio": True},
        {5: "x"},
    ],
)
def test_values_of_a_wrong_type_are_refused(settings):
    with pytest.raises(ConfigException, match="^(Invalid value .* for configuration|Configuration 'cleanup)"):
        LogConfig(settings)


def test_values_may_be_given_as_python_has_them():
    config = LogConfig({"cleanup.policy": ["compact"], "min.cleanable.dirty.ratio": 1, "preallocate": True})
    assert (config.compact, config.min_cleanable_ratio, config.preallocate) == (True, 1.0, True)


def test_overrides_win_over_the_brokers_defaults():
    config = LogConfig.from_props({"retention.ms": 1, "segment.ms": 2}, {"retention.ms": "3"})
    assert (config.retention_ms, config.segment_ms, config.overridden_configs) == (3, 2, {"retention.ms"})


# Beside Kafka

NUMBERS = [
    "0",
    "1",
    "-1",
    "-2",
    " 5 ",
    "+7",
    "x",
    "",
    " ",
    "1.0",
    "1e3",
    "2147483647",
    "2147483648",
    "9223372036854775807",
]
NUMBERS += [
    "9223372036854775808",
    "-3",
    "3",
    "4",
    "9",
    "10",
    "17",
    "18",
    "22",
    "23",
    "-131072",
    "-131073",
    "1048575",
    "1048576",
]
TEXTS = {
    "BOOLEAN": ["true", "FALSE", " True ", "", "1", "yes", "truе"],
    "DOUBLE": ["0", "1", "0.5", " .5 ", "-0.1", "1.1", "NaN", "1e-5", "5e-1f", "x", "", "1e7", "-1e-9", "12345678.5"],
    "STRING": [
        "producer",
        "gzip",
        " zstd ",
        "GZIP",
        "none",
        "uncompressed",
        "",
        "CreateTime",
        "LogAppendTime",
        "logappendtime",
    ],
    "LIST": [
        "",
        " ",
        "delete",
        "compact,delete",
        "delete , compact",
        "delete,delete",
        "delete,",
        ",",
        "DELETE",
        "x",
        "delete,x",
        "*",
    ]
    + ["0:1", "0:1,2:3", "0:1, 2:3", "0:1,", "0:", "*,*", "*,", "a:1"],
    "INT": NUMBERS,
    "LONG": NUMBERS,
}


@pytest.mark.parametrize("key", CONFIG.config_keys.values(), ids=lambda key: key.name)
def test_each_setting_is_parsed_and_refused_as_by_kafka(kafka_says, key):
    for text in TEXTS[key.type.name]:
        props = {key.name: text}
        assert plain(outcome(our_values, props)) == kafka_says(kafkas_values(props), props)


def test_names_and_defaults_are_kafkas(kafka_says):
    def names(kafka):
        java = kafka.log_class("LogConfig")
        return list(java.configNames()), list(java.nonInternalConfigNames())

    assert [LogConfig.config_names(), LogConfig.non_internal_config_names()] == kafka_says(names)
    for settings in ({}, {"no.such.setting": "x"}):
        assert our_values(settings) == kafka_says(kafkas_values(settings), settings)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"retention.ms": "5"},
        {"no.such.setting": "5"},
        {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"},
        {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "5"},
        {"segment.ms": "0", "segment.bytes": "0"},
        {"compression.gzip.level": "0"},
        {"internal.segment.bytes": "1"},
    ],
)
def test_a_topics_settings_are_validated_as_by_kafka(kafka_says, settings):
    def theirs(kafka):
        return outcome(kafka.log_class("LogConfig").validate, kafka.properties(settings))

    assert plain(outcome(LogConfig.validate, settings)) == kafka_says(theirs, settings)


def test_a_contradiction_is_an_invalid_configuration():
    with pytest.raises(InvalidConfigurationException, match="conflict topic config setting"):
        LogConfig.validate({"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"})


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"cleanup.policy": ""},
        {"cleanup.policy": "compact", "max.compaction.lag.ms": "100", "segment.ms": "1000"},
        {"preallocate": "true", "internal.segment.bytes": "4000"},
        {"local.retention.ms": "-2", "retention.ms": "77", "local.retention.bytes": "9", "retention.bytes": "10"},
    ],
)
def test_what_follows_from_the_settings(kafka_says, settings):
    def theirs(kafka):
        config = kafka.log_class("LogConfig")(kafka.properties(settings))
        flags = [config.getClass().getField(name).get(config) for name in ("compact", "delete")]
        return [config.maxSegmentMs(), config.segmentSize(), config.initFileSize(), *flags]

    ours = LogConfig(settings)
    values = [ours.max_segment_ms, ours.segment_size, ours.init_file_size, ours.compact, ours.delete]
    assert values == kafka_says(theirs, settings)


@pytest.mark.parametrize(
    ("settings", "refused", "why"),
    [
        ({"retention.mss": 1}, InvalidConfigurationException, "Unknown topic config name: retention.mss"),
        ({"retention.ms": "soon"}, ConfigException, "retention.ms"),
        ({"min.compaction.lag.ms": 2, "max.compaction.lag.ms": 1}, InvalidConfigurationException, "conflict"),
    ],
)
def test_a_log_is_not_opened_with_what_no_topic_is_created_with(tmp_path, settings, refused, why):
    with pytest.raises(refused, match=why):
        Log.open(tmp_path / "t-0", settings)
    assert not (tmp_path / "t-0").exists()


def our_values(settings):
    values = LogConfig(settings).values
    return {name: str(value) for name, value in values.items() if not settings or value != LogConfig({}).values[name]}


def kafkas_values(settings):
    """Asks Kafka for the values that are not the defaults (of no settings: for these), or for its exception."""
    return lambda kafka: outcome(_kafkas_values, kafka, settings)


def _kafkas_values(kafka, settings):
    values = kafka.log_class("LogConfig")(kafka.properties(settings)).values()
    values = {entry.getKey(): entry.getValue() for entry in values.entrySet()}
    defaults = _kafkas_values(kafka, {}) if settings else {}
    values = {
        name: str(list(value)) if CONFIG.config_keys[name].type.name == "LIST" else str(value)
        for name, value in values.items()
    }
    return {name: value for name, value in values.items() if value != defaults.get(name)}


def outcome(call, *arguments):
    try:
        with kafka_errors():
            return call(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)
