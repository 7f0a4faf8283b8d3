"""The file `quorum-state`: who leads the metadata log, and in which epoch."""

import json
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.errors import IllegalStateException, IOException
from minikafka.common.java.java_numbers import INT_MAX

QUORUM_STATE_NAME = "quorum-state"
_VERSION = 0


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
