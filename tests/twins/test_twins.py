"""Each twin that a docstring names is there in the version that minikafka mirrors."""

import pytest

from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.jvm.source_jars import SourcesUnavailableError
from minikafka.twins.kafka_sources import TABLE_FILE, KafkaSources, kafka_table, table_of, table_text
from minikafka.twins.our_members import camel_case, members_of, our_members
from minikafka.twins.resolve import resolve, stands_elsewhere
from minikafka.twins.twin_name import TwinName
from tests.absent import absent

TABLE = kafka_table()
NAMED = [(member, twin) for member in our_members() for twin in member.twins if not member.by_name]


@pytest.fixture(scope="session")
def sources() -> KafkaSources:
    """The sources of the mirrored version; 6 MB, fetched once."""
    try:
        return KafkaSources.of(KAFKA_VERSION)
    except SourcesUnavailableError as unavailable:
        absent(str(unavailable))


def test_each_twin_is_there():
    """The table lacks a class that a docstring names for the first time: `python -m minikafka.twins.kafka_sources`."""
    wrong = {f"{member.full_name}: {twin}" for member, twin in NAMED if not stands_elsewhere(twin)}
    wrong -= {f"{member.full_name}: {twin}" for member, twin in NAMED if resolve(twin, TABLE)}
    assert wrong == set()
    assert len(NAMED) > 1800


def test_a_wrong_name_is_noticed():
    assert resolve(TwinName("UnifiedLog", "append"), TABLE)
    assert not resolve(TwinName("UnifiedLog", "apend"), TABLE)
    assert not resolve(TwinName("kafka.log.UnifiedLog", None), TABLE)  # where it stood up to 4.0
    assert not resolve(TwinName("LeaderEpochFileCache", "assign", ("int", "int")), TABLE)
    assert resolve(TwinName("LeaderEpochFileCache", "assign", ("int", "long")), TABLE)


def test_what_a_class_inherits_belongs_to_it():
    ((owner, member),) = resolve(TwinName("ReplicaFetcherThread", "doWork"), TABLE)
    assert (owner.name, member.name) == ("ReplicaFetcherThread", "doWork") or owner.name == "AbstractFetcherThread"
    assert resolve(TwinName("RecordBatch", "iterator"), TABLE)[0][1] is None  # Java's Iterable declares it


@pytest.mark.slow
@pytest.mark.kafka
def test_the_table_is_what_the_sources_say(sources):
    made = table_of(sources, [twin for member in our_members() for twin in member.twins])
    assert table_text(made) == TABLE_FILE.read_text(encoding="utf-8")


def test_our_members_are_read_without_their_imports():
    source = '''
class Log:
    """A log.

    Kafka: `UnifiedLog`.
    """

    size: int

    def __init__(self, end):
        self._log_end_offset = end

    def append(self, records):
        """Append. More words. Kafka: `UnifiedLog.appendAsLeader`."""

    def _maybe_roll(self): ...

def helper():
    """Help."""
'''
    found = {member.name: member for member in members_of(source, "minikafka.log.log")}
    assert {name: [str(twin) for twin in member.twins] for name, member in found.items()} == {
        "Log": ["UnifiedLog"],
        "Log.size": ["UnifiedLog.size"],
        "Log.log_end_offset": ["UnifiedLog.logEndOffset"],
        "Log.append": ["UnifiedLog.appendAsLeader"],
        "Log._maybe_roll": ["UnifiedLog.maybeRoll"],
        "helper": [],
    }
    assert found["Log.append"].summary == "Append" and found["Log.append"].line == 13
    assert [name for name, member in found.items() if not member.public] == ["Log._maybe_roll"]
    assert [name for name, member in found.items() if member.by_name] == [
        "Log.size",
        "Log.log_end_offset",
        "Log._maybe_roll",
    ]
    assert camel_case("UNKNOWN_OFFSET") == "UNKNOWN_OFFSET"
