"""The file `quorum-state`: who leads the metadata log, and in which epoch."""

import json
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.errors import IllegalStateException, IOException, NumberFormatException, RuntimeException
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.common.uuid import uuid_from_string

QUORUM_STATE_NAME = "quorum-state"
_VERSION = 0
_FIELDS = {
    0: ("clusterId", "leaderId", "leaderEpoch", "votedId", "appliedOffset", "currentVoters"),
    1: ("leaderId", "leaderEpoch", "votedId", "votedDirectoryId"),
}
"""The fields that a file of that version must have."""


class QuorumStateStore:
    """The file, of a quorum with a single voter, which is the leader. It is JSON on one line, replaced atomically.

    Kafka: `FileQuorumStateStore`, `QuorumStateData` of version 0.
    """

    def __init__(self, file: Path, voter_id: int):
        self._file = file
        self._voter_id = voter_id

    def read_epoch(self) -> int:
        """The epoch of the last leader, 0 if there has been none.

        Raises IllegalStateException where another node votes, or where the voters are in the log (version 1), and
        IOException for a file that is none.
        """
        try:
            state = json.loads(self._file.read_bytes())
            version, voters, epoch = state["data_version"], state.get("currentVoters"), state["leaderEpoch"]
        except FileNotFoundError:
            return 0
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise IOException(f"Error while reading the Quorum status from the file {self._file}") from error
        if version != _VERSION or voters != [{"voterId": self._voter_id}]:
            raise IllegalStateException(
                f"{self._file} is of a quorum of which node {self._voter_id} is not the only voter: minikafka goes on "
                "with what it has begun itself"
            )
        if type(epoch) is not int or not 0 <= epoch < INT_MAX:
            raise IOException(f"Error while reading the Quorum status from the file {self._file}")
        return epoch

    def write_elected(self, epoch: int) -> None:
        """The voter leads in `epoch` from now on; that is on the device when this returns. Raises OSError."""
        state = {
            "clusterId": "",
            "leaderId": self._voter_id,
            "leaderEpoch": epoch,
            "votedId": -1,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": self._voter_id}],
            "data_version": _VERSION,
        }
        file_ops.replace_file(self._file, json.dumps(state, separators=(",", ":")).encode())


def require_readable(file: Path) -> None:
    """Raises what ends Kafka's start where it cannot read the state of a quorum, its own or another one's.

    IOException for a file that is no JSON object with a version, IllegalStateException for a version that is none of
    both, RuntimeException for a field that is missing or of another type, NumberFormatException for one that is no
    number, IllegalArgumentException for an id that is none. A missing file is none. Kafka:
    `FileQuorumStateStore.readElectionState`.
    """
    try:
        line = file.read_bytes().partition(b"\n")[0].decode()
        state, _ = json.JSONDecoder().raw_decode(line.strip())
        version = state["data_version"]
    except FileNotFoundError:
        return
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise IOException(f"Error while reading the Quorum status from the file {file}") from error
    version = int(version) if isinstance(version, int | float) and not isinstance(version, bool) else 0
    if version not in _FIELDS:
        raise IllegalStateException(f"data_version ({version}) is not within the min (0) and max (1) supported version")
    for name in _FIELDS[version]:
        if name not in state:
            raise RuntimeException(
                f"QuorumStateData: unable to locate field '{name}', which is mandatory in version {version}"
            )
        _require_type(file, name, state[name])


def _require_type(file: Path, name: str, value: object) -> None:
    """Raises for a value that Kafka's message definition `QuorumStateData` has of another type."""
    if name in ("clusterId", "votedDirectoryId"):
        if not isinstance(value, str):
            raise RuntimeException(f"QuorumStateData expected a string type: {name} in {file}")
        if name == "votedDirectoryId":
            uuid_from_string(value)
    elif name == "currentVoters":
        if not isinstance(value, list) or not all(isinstance(voter, dict) and "voterId" in voter for voter in value):
            raise RuntimeException(f"QuorumStateData expected a JSON array of voters: {name} in {file}")
        for voter in value:
            _require_type(file, "voterId", voter["voterId"])
    elif not isinstance(value, int) or isinstance(value, bool) or not _fits(name, value):
        raise NumberFormatException(f"QuorumStateData: failed to parse number: {name} in {file}")


def _fits(name: str, number: int) -> bool:
    bits = 63 if name == "appliedOffset" else 31
    return -(1 << bits) <= number < 1 << bits
