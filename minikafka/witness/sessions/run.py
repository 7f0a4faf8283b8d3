"""Does a workload of a fetch session on a broker's sessions, minikafka's or Kafka's, and notes what is seen."""

from collections import defaultdict
from typing import Any

from minikafka.common.error_codes import Errors
from minikafka.witness.observation import Observations
from minikafka.witness.sessions.fetch_sessions import NO_REPLICA, FetchSessions, Found
from minikafka.witness.sessions.workload import SessionOperation, SessionWorkload

_NO_SESSION = 0
_ANOTHER_REPLICA = 7


class SessionRunner:
    """Applies operations to `sessions`. After each one, a row says:

    - `error`: that of the answer, by its name; "" where nothing was fetched;
    - `told`: the partitions that the answer has, in its order;
    - `read`: the partitions of the session, in the order in which this fetch has read them.

    The reader reads each record once. It begins anew when it is refused, or when its session has ended.
    """

    def __init__(self, sessions: FetchSessions):
        self._sessions = sessions
        self._session_id, self._epoch = _NO_SESSION, 0
        self._partitions: defaultdict[int, Found] = defaultdict(Found)

    def apply(self, operation: SessionOperation) -> dict[str, Any]:
        """Do one operation, and tell what is seen."""
        if operation.kind == "fetch":
            return self._fetch(operation)
        there = self._partitions[operation.partition]
        count = int(operation.words[1]) if operation.kind in ("append", "append_unreplicated") else 0
        changed = {
            "append": {"records": there.records + count, "high_watermark": there.high_watermark + count},
            "append_unreplicated": {"records": there.records + count},
            "mark": {"high_watermark": there.high_watermark + 1},
            "delete": {"log_start": there.log_start + 1},
            "fail": {"error": int(Errors.NOT_LEADER_OR_FOLLOWER)},
            "heal": {"error": 0},
            "ask_another": {"replica": _ANOTHER_REPLICA},
            "cut": {"is_cut": True},
        }[operation.kind]
        self._partitions[operation.partition] = there._replace(**changed)
        return {"error": "", "told": (), "read": ()}

    def _fetch(self, operation: SessionOperation) -> dict[str, Any]:
        answer = self._sessions.fetch(self._session_id, self._epoch, operation.named, operation.forgotten, self._found)
        for partition in answer.read:
            there = self._partitions[partition]
            left = there.records if there.error else 0
            self._partitions[partition] = there._replace(records=left, replica=NO_REPLICA, is_cut=False)
        self._session_id, self._epoch = answer.session_id, self._epoch + 1
        if answer.error or answer.session_id == _NO_SESSION:
            self._session_id, self._epoch = _NO_SESSION, 0
        return {"error": Errors(answer.error).name, "told": answer.told, "read": answer.read}

    def _found(self, partition: int) -> Found:
        """With an error there are no records."""
        there = self._partitions[partition]
        return there._replace(records=0) if there.error else there


def run_sessions(workload: SessionWorkload, sessions: FetchSessions, witness: str = "minikafka") -> Observations:
    """The table of what is seen after each operation."""
    runner = SessionRunner(sessions)
    return Observations(witness, workload, tuple(runner.apply(operation) for operation in workload))
