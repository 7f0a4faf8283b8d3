"""Three brokers of one cluster: what is produced at one is copied, acknowledged, and kept when brokers come and go."""

import pytest

from minikafka.broker.broker import Broker
from minikafka.broker.cluster import Cluster
from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME, MetaProperties
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    BrokerNotAvailableException,
    ConfigException,
    DuplicateBrokerRegistrationException,
    EligibleLeadersNotAvailableException,
    IllegalArgumentException,
    IllegalStateException,
    InvalidConfigurationException,
    InvalidReplicaAssignmentException,
    PreferredLeaderNotAvailableException,
    TopicExistsException,
    UnknownTopicOrPartitionException,
)
from minikafka.common.scheduler import ManualScheduler
from minikafka.network.request import NoBytes
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.log.batch import Batch


@pytest.fixture
def cluster(tmp_path):
    """Three brokers, and the topic "t" with a replica on each; broker 0 leads."""
    cluster = Cluster(tmp_path, settings={"min.insync.replicas": "2"}, start_ms=1_000_000)
    for broker_id in range(3):
        cluster.start(broker_id)
    cluster.create_topic("t", [0, 1, 2])
    yield cluster
    cluster.close()


def produce(cluster, text="[1x10]", **options):
    """One batch, as a workload writes it."""
    return cluster.produce("t", Batch.parse(text).encode(cluster.time.milliseconds()), **options)


def ends(cluster):
    """The log end and the high watermark of every running broker's replica."""
    states = [cluster.state(broker_id, "t") for broker_id in cluster.brokers]
    return {state.broker_id: (state.log_end_offset, state.high_watermark) for state in states}


def log_bytes(cluster, broker_id):
    return (cluster.directory / f"broker-{broker_id}" / "t-0" / f"{0:020}.log").read_bytes()


def fetched(cluster, offset=0, **options):
    """The error of a consumer's fetch, and the offsets of the records that it got."""
    partition = cluster.fetch("t", offset, **options).partition
    batches = MemoryRecords.readable_records(partition.records or b"").batches()
    return Errors(partition.error_code), [record.offset for batch in batches for record in batch]


def test_a_record_is_acknowledged_when_every_replica_in_sync_asks_for_what_follows(cluster):
    sent = produce(cluster)
    assert not sent.done and ends(cluster) == {0: (1, 0), 1: (0, 0), 2: (0, 0)}
    cluster.follow()
    assert not sent.done and ends(cluster) == {0: (1, 0), 1: (1, 0), 2: (1, 0)}
    cluster.follow(1)
    assert not sent.done
    cluster.follow(2)
    assert sent.done and ends(cluster)[0] == (1, 1)
    assert (sent.partition.error_code, sent.partition.base_offset) == (0, 0)
    assert fetched(cluster) == (Errors.NONE, [0])
    cluster.follow()
    assert ends(cluster) == {0: (1, 1), 1: (1, 1), 2: (1, 1)}
    assert log_bytes(cluster, 0) == log_bytes(cluster, 1) == log_bytes(cluster, 2)


def test_whoever_wants_less_is_answered_at_once(cluster):
    assert produce(cluster, acks=1).partition.base_offset == 0
    silent = produce(cluster, acks=0)
    assert silent.done and silent.result is NoBytes.NO_RESPONSE
    assert fetched(cluster) == (Errors.NONE, [])


def test_a_request_that_waits_too_long_is_told_so(cluster):
    sent = produce(cluster, timeout_ms=500)
    cluster.sleep(499)
    assert not sent.done
    cluster.sleep(2)
    assert sent.partition.error_code == Errors.REQUEST_TIMED_OUT
    assert ends(cluster)[0] == (1, 0)


def test_a_fetch_waits_for_records(cluster):
    waiting = cluster.fetch("t", 0, max_wait_ms=500)
    produce(cluster, acks=1)
    for _ in range(2):
        assert not waiting.done
        cluster.follow()
    assert waiting.done and waiting.partition.high_watermark == 1


def test_other_brokers_say_who_leads(cluster):
    answer = produce(cluster, broker_id=1)
    assert answer.partition.error_code == Errors.NOT_LEADER_OR_FOLLOWER
    assert answer.partition.current_leader.leader_id == 0
    cluster.create_topic("elsewhere", [1])
    assert cluster.list_offsets("elsewhere", broker_id=0).partition.error_code == Errors.NOT_LEADER_OR_FOLLOWER
    assert cluster.list_offsets("elsewhere").partition.offset == 0
    assert cluster.state(0, "elsewhere") is None


def test_a_follower_that_lags_leaves_the_isr_and_comes_back(cluster):
    cluster.follow()
    cluster.follow()
    produce(cluster, acks=1)
    for _ in range(46):  # one round a second, but broker 2 sleeps
        cluster.sleep(1000)
        cluster.follow(1)
    assert cluster.registration("t").isr == (0, 1)
    assert cluster.state(0, "t").isr == {0, 1} and cluster.state(0, "t").partition_epoch == 1
    assert ends(cluster) == {0: (1, 1), 1: (1, 1), 2: (0, 0)}
    cluster.follow(2)
    cluster.follow(2)
    assert cluster.registration("t").isr == (0, 1, 2)
    assert cluster.registration("t").leader_epoch == 0


def test_what_was_acknowledged_survives_its_leader(cluster):
    sent = produce(cluster)
    cluster.follow()
    cluster.follow()
    assert sent.partition.error_code == 0
    produce(cluster, acks=1)  # nobody else has this one
    cluster.crash(0)
    cluster.fence(0)
    assert cluster.leader("t") == 1 and cluster.registration("t").isr == (1, 2)
    assert ends(cluster) == {1: (1, 0), 2: (1, 1)}  # nobody has told the new leader yet how far all had it
    kept = produce(cluster)
    for _ in range(3):
        cluster.follow()
    assert fetched(cluster) == (Errors.NONE, [0, 1])
    assert kept.partition.base_offset == 1
    cluster.restart(0)
    assert cluster.state(0, "t").log_end_offset == 2
    for _ in range(3):
        cluster.follow()
    assert ends(cluster) == {1: (2, 2), 2: (2, 2), 0: (2, 2)}
    assert set(cluster.registration("t").isr) == {0, 1, 2}
    assert [(entry.epoch, entry.start_offset) for entry in cluster.state(0, "t").epochs] == [(0, 0), (1, 1)]
    assert log_bytes(cluster, 0) == log_bytes(cluster, 1) == log_bytes(cluster, 2)


def test_too_few_replicas_in_sync_take_nothing(cluster):
    for broker_id in (1, 2):
        cluster.crash(broker_id)
        cluster.fence(broker_id)
    assert produce(cluster).partition.error_code == Errors.NOT_ENOUGH_REPLICAS
    assert produce(cluster, acks=1).partition.base_offset == 0
    assert ends(cluster) == {0: (1, 0)}


def test_a_broker_that_stops_hands_over_first(cluster):
    produce(cluster, acks=1)
    cluster.follow()
    cluster.follow()
    cluster.stop(0)
    assert cluster.leader("t") == 1
    assert not cluster.controller.image.cluster.broker(0).is_active()
    cluster.start(0)
    for _ in range(3):
        cluster.follow()
    assert set(cluster.registration("t").isr) == {0, 1, 2}
    cluster.elect("t")
    assert cluster.leader("t") == 0 and cluster.state(0, "t").is_leader
    assert cluster.state(1, "t").fetch_state is not None and cluster.state(0, "t").fetch_state is None


def test_brokers_may_hear_late(cluster):
    cluster.publishes_at_once = False
    cluster.crash(0)
    cluster.fence(0)
    assert cluster.leader("t") == 1
    assert produce(cluster).partition.error_code == Errors.NOT_LEADER_OR_FOLLOWER
    cluster.publish(1)
    assert not produce(cluster).done
    assert cluster.state(2, "t").leader == 0
    cluster.publish()
    assert cluster.state(2, "t").leader == 1


def test_an_election_may_lose_records_if_it_is_asked_to(cluster):
    produce(cluster, acks=1)
    cluster.change_settings("t", min__insync__replicas=1)
    for broker_id in (1, 2):
        cluster.crash(broker_id)
        cluster.fence(broker_id)
    cluster.crash(0)
    cluster.fence(0)
    with pytest.raises(EligibleLeadersNotAvailableException):
        cluster.elect("t", unclean=True)
    cluster.restart(1)
    assert cluster.leader("t") == -1
    cluster.elect("t", unclean=True)
    assert cluster.leader("t") == 1 and cluster.registration("t").isr == (1,)
    assert ends(cluster) == {1: (0, 0)}
    with pytest.raises(PreferredLeaderNotAvailableException):
        cluster.elect("t")


def test_an_incarnation_is_missed_before_the_next_begins(cluster):
    cluster.crash(2)
    with pytest.raises(DuplicateBrokerRegistrationException):
        cluster.start(2)
    cluster.restart(2)


def test_the_controller_s_errors_are_raised(cluster):
    with pytest.raises(TopicExistsException):
        cluster.create_topic("t", [0])
    with pytest.raises(InvalidReplicaAssignmentException):
        cluster.create_topic("u", [7])
    with pytest.raises(InvalidConfigurationException):
        cluster.change_settings("t", retention__ms=-2)
    cluster.change_settings("t", retention__ms=None, preallocate=False)


def test_a_deleted_topic_is_gone_everywhere(cluster):
    produce(cluster, acks=1)
    cluster.delete_topic("t")
    assert [cluster.state(broker_id, "t") for broker_id in range(3)] == [None] * 3
    assert produce(cluster, broker_id=0).partition.error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_the_controller_learns_of_a_directory_that_fails(cluster, tmp_path):
    log_dirs, ids = [tmp_path / "a", tmp_path / "b"], ["D" * 21 + letter for letter in "gw"]
    for log_dir, directory_id in zip(log_dirs, ids):
        log_dir.mkdir()
        MetaProperties("minikafka", 3, directory_id).write(log_dir / META_PROPERTIES_NAME, 0)
    scheduler = ManualScheduler(cluster.time)
    broker = Broker(3, log_dirs, cluster.controller, time=cluster.time, scheduler=scheduler, incarnation_id=ids[0])
    broker.startup()
    registration = cluster.controller.image.cluster.broker(3)
    assert registration.directories == tuple(sorted(ids))
    broker.replica_manager.handle_log_dir_failure(log_dirs[0])
    assert cluster.controller.image.cluster.broker(3).directories == (ids[1],)
    broker.crash()


def test_the_same_calls_write_the_same_bytes(tmp_path):
    written = []
    for run in ("first", "second"):
        cluster = Cluster(tmp_path / run, start_ms=1_000_000)
        for broker_id in range(2):
            cluster.start(broker_id)
        cluster.create_topic("t", [0, 1])
        produce(cluster, acks=1)
        cluster.follow()
        cluster.follow()
        for broker_id in range(2):
            cluster.stop(broker_id)
        files = sorted(path for path in (tmp_path / run).rglob("*") if path.is_file())
        written.append({path.relative_to(tmp_path / run): path.read_bytes() for path in files})
    assert written[0].keys() == written[1].keys()
    assert written[0] == written[1]


@pytest.mark.parametrize("broker_id", [-1, 2**31, 2**40, "x", "../../elsewhere", None, 1.5, True])
def test_a_bad_id_is_refused_before_anything_is_made(cluster, broker_id):
    before = sorted(cluster.directory.iterdir())
    with pytest.raises(IllegalArgumentException, match="^broker id .* is no number from 0 to 2147483647$"):
        cluster.start(broker_id)
    assert sorted(cluster.directory.iterdir()) == before and sorted(cluster.brokers) == [0, 1, 2]


def test_bad_settings_are_refused_before_anything_is_made(cluster):
    with pytest.raises(ConfigException, match="min.insync.replicas"):
        cluster.start(7, min__insync__replicas="many")
    assert not (cluster.directory / "broker-7").exists() and 7 not in cluster.brokers


def test_a_broker_that_runs_is_not_started_again(cluster):
    with pytest.raises(IllegalStateException, match="^broker 0 runs already$"):
        cluster.start(0)
    assert produce(cluster, acks=1).partition.error_code == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda cluster: cluster.stop(9),
        lambda cluster: cluster.crash(9),
        lambda cluster: cluster.publish(9),
        lambda cluster: cluster.follow(9),
        lambda cluster: cluster.handle(9, b""),
        lambda cluster: cluster.state(9, "t"),
        lambda cluster: cluster.fetch("t", 0, broker_id=9),
    ],
)
def test_a_broker_that_does_not_run_is_named(cluster, call):
    with pytest.raises(BrokerNotAvailableException, match=r"^broker 9 does not run; those that do: \[0, 1, 2\]$"):
        call(cluster)


@pytest.mark.parametrize(
    "call",
    [
        lambda cluster: cluster.leader("t", 99),
        lambda cluster: cluster.leader("nothing"),
        lambda cluster: cluster.registration("t", -1),
        lambda cluster: cluster.produce("nothing", b""),
        lambda cluster: cluster.fetch("t", 0, partition=99),
        lambda cluster: cluster.list_offsets("nothing"),
        lambda cluster: cluster.delete_topic("nothing"),
    ],
)
def test_what_is_not_there_is_named(cluster, call):
    with pytest.raises(
        UnknownTopicOrPartitionException, match="^there is no (partition -?\\d+ of a )?topic '(t|nothing)'$"
    ):
        call(cluster)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda cluster: cluster.fetch("t", 2**63), "fetch_offset: 9223372036854775808 is no int64"),
        (lambda cluster: cluster.fetch("t", 0, max_bytes=2**31), "max_bytes: 2147483648 is no int32"),
        (lambda cluster: produce(cluster, acks=2**15), "acks: 32768 is no int16"),
        (lambda cluster: produce(cluster, timeout_ms=2**31), "timeout_ms: 2147483648 is no int32"),
        (lambda cluster: cluster.sleep(-1), "time in ms -1 is no number from 0 to 9223372036854775807"),
        (lambda cluster: cluster.create_topic(5, [0]), "the name of a topic is a text, not 5"),
        (lambda cluster: cluster.create_topic("u", [0.0]), "broker id 0.0 is no number from"),
    ],
)
def test_an_argument_that_fits_nowhere_is_named(cluster, call, words):
    with pytest.raises(IllegalArgumentException, match=f"^{words}"):
        call(cluster)
