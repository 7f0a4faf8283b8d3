"""The source of an append, which decides how much of it is checked."""

from enum import Enum


class AppendOrigin(Enum):
    """The source of an append. Kafka: `AppendOrigin`.

    - REPLICATION: a follower copies its leader. Offsets stay as they are, and little is checked.
    - COORDINATOR: the group or transaction coordinator. Producer epochs are checked, control batches are allowed.
    - CLIENT: a producer. Everything is checked.
    - RAFT_LEADER: the leader of the metadata log. Offsets are already assigned.
    """

    REPLICATION = "REPLICATION"
    COORDINATOR = "COORDINATOR"
    CLIENT = "CLIENT"
    RAFT_LEADER = "RAFT_LEADER"
