"""Where an append comes from, which decides how much of it is checked."""

from enum import Enum


class AppendOrigin(Enum):
    """The source of an append. Kafka: `AppendOrigin`.

    - REPLICATION: a follower copies its leader; offsets are kept and little is checked.
    - COORDINATOR: the group or transaction coordinator; producer epochs are checked, control batches allowed.
    - CLIENT: a producer; everything is checked.
    - RAFT_LEADER: the metadata log's leader; offsets are already assigned.
    """

    REPLICATION = "REPLICATION"
    COORDINATOR = "COORDINATOR"
    CLIENT = "CLIENT"
    RAFT_LEADER = "RAFT_LEADER"
