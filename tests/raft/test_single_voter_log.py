"""The metadata log on disk: what was appended is there, also after a kill between any two changes of the disk."""

import json

import pytest

from minikafka.common import file_ops
from minikafka.common.errors import IllegalStateException, IOException, KafkaStorageException
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.log.log import Log
from minikafka.raft.quorum_state_store import QUORUM_STATE_NAME, QuorumStateStore
from minikafka.raft.single_voter_log import SingleVoterLog


def opened(log_dir, node_id=1):
    time = ManualTime(1000)
    return SingleVoterLog(log_dir / CLUSTER_METADATA_DIRECTORY, node_id, scheduler=ManualScheduler(time), time=time)


def test_each_start_begins_an_epoch(tmp_path):
    for epoch in (1, 2, 3):
        log = opened(tmp_path)
        assert log.epoch == epoch
        log.append([b"a%d" % epoch, b"b%d" % epoch])
        assert list(log.read()) == [part for n in range(1, epoch + 1) for part in ([None], [b"a%d" % n, b"b%d" % n])]
        log.close() if epoch == 1 else log.let_go()
    state = json.loads((tmp_path / CLUSTER_METADATA_DIRECTORY / QUORUM_STATE_NAME).read_text())
    assert (state["leaderEpoch"], state["leaderId"], state["currentVoters"]) == (3, 1, [{"voterId": 1}])
    assert (tmp_path / CLUSTER_METADATA_DIRECTORY / "leader-epoch-checkpoint").read_text() == "0\n3\n1 0\n2 3\n3 6\n"


class Killed(BaseException):
    pass


@pytest.mark.slow
def test_killed_after_any_change_of_the_disk(tmp_path):
    """What was appended before stays; of what was being appended all is there, or nothing."""
    number, is_over = 0, False
    while not is_over:
        log_dir, done = tmp_path / str(number), []
        log_dir.mkdir()
        changes = iter(range(10**6))

        def observer(_operation, _path, changes=changes, number=number):
            if next(changes) == number:
                raise Killed

        log = None
        try:
            with file_ops.observe(observer):
                log = opened(log_dir)
                for values in ([b"1", b"2"], [b"3"]):
                    log.append(values)
                    done.append(values)
            is_over = True
        except Killed:
            if log is not None:
                log.let_go()
        if is_over:
            log.close()
        again = opened(log_dir)
        left = [values for values in again.read() if values != [None]]
        assert left[: len(done)] == done and left in ([[b"1", b"2"], [b"3"]][:n] for n in range(3))
        again.append([b"more"])
        assert list(again.read())[-1] == [b"more"]
        again.close()
        number += 1
    assert number > 15


def test_a_torn_batch_goes(tmp_path):
    log = opened(tmp_path)
    log.append([b"1"])
    log.append([b"2", b"3"])
    log.let_go()
    file = tmp_path / CLUSTER_METADATA_DIRECTORY / f"{0:020d}.log"
    file.write_bytes(file.read_bytes()[:-3])
    log = opened(tmp_path)
    assert [values for values in log.read() if values != [None]] == [[b"1"]]
    log.close()


@pytest.mark.slow
def test_another_log_on_the_directory_is_refused(tmp_path):
    log = opened(tmp_path)
    with pytest.raises(KafkaStorageException, match="Failed to acquire the lock"):
        opened(tmp_path)
    log.close()


@pytest.mark.parametrize(
    ("state", "refused"),
    [
        ("{", IOException),
        ("[]", IOException),
        ("[" * 100_000, IOException),
        ('{"leaderEpoch":1,"currentVoters":[{"voterId":1}]}', IOException),
        ('{"leaderEpoch":-1,"currentVoters":[{"voterId":1}],"data_version":0}', IOException),
        ('{"leaderEpoch":true,"currentVoters":[{"voterId":1}],"data_version":0}', IOException),
        ('{"leaderEpoch":1,"currentVoters":[{"voterId":2}],"data_version":0}', IllegalStateException),
        ('{"leaderEpoch":1,"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}', IllegalStateException),
        ('{"leaderEpoch":1,"leaderId":1,"data_version":1}', IllegalStateException),
    ],
)
def test_a_quorum_of_others_is_refused_and_nothing_written(tmp_path, state, refused):
    (tmp_path / CLUSTER_METADATA_DIRECTORY).mkdir()
    (tmp_path / CLUSTER_METADATA_DIRECTORY / QUORUM_STATE_NAME).write_text(state)
    with pytest.raises(refused, match=QUORUM_STATE_NAME):
        opened(tmp_path)
    assert (tmp_path / CLUSTER_METADATA_DIRECTORY / QUORUM_STATE_NAME).read_text() == state
    with Log.open(tmp_path / CLUSTER_METADATA_DIRECTORY) as log:
        assert log.log_end_offset == 0


def test_the_state_of_a_quorum_that_has_not_voted(tmp_path):
    assert QuorumStateStore(tmp_path / "none", 1).read_epoch() == 0
