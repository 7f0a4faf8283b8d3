"""Which files `quorum-state` Kafka can read, and which end its start."""

import json

import pytest

from minikafka.raft.quorum_state_store import require_readable
from minikafka.witness.kafka.kafka_errors import kafka_errors

OLD = {
    "clusterId": "", "leaderId": 1, "leaderEpoch": 3, "votedId": -1, "appliedOffset": 0,
    "currentVoters": [{"voterId": 1}], "data_version": 0,
}  # fmt: skip
NEW = {
    "leaderId": -1, "leaderEpoch": 2, "votedId": 1, "votedDirectoryId": "J8aAPcfLQt2bqs1JT_rMgQ", "data_version": 1
}  # fmt: skip
TEXTS = {
    "version 0": json.dumps(OLD),
    "version 1": json.dumps(NEW),
    "empty": "",
    "no JSON": "{garbage",
    "a list": "[]",
    "something behind it": json.dumps(NEW) + " x",
    "a second line": json.dumps(NEW) + "\nx",
    "a first line that is empty": "\n" + json.dumps(NEW),
    "without version": json.dumps({k: v for k, v in OLD.items() if k != "data_version"}),
    **{
        f"version {version!r}": json.dumps({**NEW, "data_version": version})
        for version in (2, -1, "1", 1.5, None, True)
    },
    **{f"0 without {name}": json.dumps({k: v for k, v in OLD.items() if k != name}) for name in OLD},
    **{f"1 without {name}": json.dumps({k: v for k, v in NEW.items() if k != name}) for name in NEW},
    **{
        f"{name} {value!r}": json.dumps({**state, name: value})
        for state in (OLD, NEW)
        for name in state
        for value in ("x", None, 1.5, 1 << 40, True, [], [1])
        if name != "data_version"
    },
    "a voter without id": json.dumps({**OLD, "currentVoters": [{}]}),
    "a voter of another type": json.dumps({**OLD, "currentVoters": [{"voterId": "1"}]}),
    "a short id": json.dumps({**NEW, "votedDirectoryId": "AAAA"}),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_file_is_read_as_by_kafka(tmp_path, case, kafka_says):
    file = tmp_path / "quorum-state"
    file.write_text(TEXTS[case])

    def read(kafka) -> bool:
        store = kafka.find_class("org.apache.kafka.raft.FileQuorumStateStore")(kafka.file(file))
        return succeeds(store.readElectionState)

    assert succeeds(lambda: require_readable(file)) == kafka_says(read, TEXTS[case])


def succeeds(work) -> bool:
    try:
        with kafka_errors():
            work()
    except Exception:
        return False
    return True


def test_no_file_is_a_quorum_that_has_not_voted(tmp_path):
    require_readable(tmp_path / "quorum-state")
