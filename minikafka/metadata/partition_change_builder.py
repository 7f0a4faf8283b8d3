"""Who leads a partition next, and what has to be written down so that it does."""

from collections.abc import Callable, Collection
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from minikafka.messages.cluster_metadata import PartitionChangeRecord
from minikafka.metadata.leader_and_isr import NO_LEADER
from minikafka.metadata.leader_recovery_state import NO_CHANGE, LeaderRecoveryState
from minikafka.metadata.partition_registration import PartitionRegistration


class Election(Enum):
    """What may be done to have a leader. Kafka: `PartitionChangeBuilder.Election`.

    - `PREFERRED`: the first replica leads, if it is in sync.
    - `ONLINE`: the present leader stays if it can, else a replica in sync leads, or an eligible one if none is in sync.
    - `UNCLEAN`: as `ONLINE`, but rather a replica that may lack records than none.
    """

    PREFERRED = "preferred"
    ONLINE = "online"
    UNCLEAN = "unclean"


class ElectionResult(NamedTuple):
    """The new leader (−1: none), and whether it may lack records. Kafka: `PartitionChangeBuilder.ElectionResult`."""

    node: int
    unclean: bool


class PartitionChangeBuilder:
    """Turns a wanted ISR into the record that changes a partition. Kafka: `PartitionChangeBuilder`.

    - A leader is elected out of the replicas in sync, in the order of preference; the present one stays if it can. If
      the ISR is empty, it is elected out of the eligible leader replicas; if these are gone as well, the last known
      leader may return, and that counts as unclean.
    - The last replica in sync stays in the ISR even when its broker is gone, unless eligible leader replicas are on:
      then the ISR may be empty, and those replicas that had left it while it was too small are remembered, since they
      still hold all that was committed.
    - A new leader always means a new leader epoch; a new ISR alone does not.

    Simpler than Kafka's: no reassignment of replicas, no directories, only the metadata version of 4.3.
    """

    def __init__(
        self,
        partition: PartitionRegistration,
        topic_id: str,
        partition_id: int,
        is_acceptable_leader: Callable[[int], bool],
        min_isr: int,
        *,
        eligible_leader_replicas_enabled: bool = False,
        election: Election = Election.ONLINE,
        target_isr: tuple[int, ...] | None = None,
        target_leader_recovery_state: LeaderRecoveryState | None = None,
        unclean_shutdown_replicas: Collection[int] = (),
    ):
        """A change of `partition`, which has `min_isr` as its least number of replicas in sync.

        What is not given stays as it is. `is_acceptable_leader` says whether a broker is alive and may lead;
        `unclean_shutdown_replicas` may have lost records, so they are not remembered as eligible leaders.
        """
        self.partition = partition
        self.topic_id = topic_id
        self.partition_id = partition_id
        self.is_acceptable_leader = is_acceptable_leader
        self.min_isr = min_isr
        self.eligible_leader_replicas_enabled = eligible_leader_replicas_enabled
        self.election = election
        self.target_isr = partition.isr if target_isr is None else target_isr
        self.target_elr = partition.elr
        self.target_leader_recovery_state = (
            partition.leader_recovery_state if target_leader_recovery_state is None else target_leader_recovery_state
        )
        self.unclean_shutdown_replicas = unclean_shutdown_replicas

    def build(self) -> PartitionChangeRecord | None:
        """The record of the change; None when there is nothing to change. Kafka: `PartitionChangeBuilder.build`."""
        partition = self.partition
        nothing = PartitionChangeRecord(partition_id=self.partition_id, topic_id=self.topic_id)
        record = nothing
        # 1. Replicas that leave an ISR which is too small become eligible leaders.
        self._maybe_populate_target_elr()
        # 2. Elect; who is elected uncleanly is the whole ISR, and has to recover.
        record = self._try_election(record)
        # 3. After an unclean election nobody is eligible any more.
        if record.isr is not None or not self.eligible_leader_replicas_enabled:
            self.target_elr = ()
        if self.target_elr != partition.elr:
            record = replace(record, eligible_leader_replicas=list(self.target_elr))
        # 4. The ISR, unless the election has set it; only eligible leaders make an empty one possible.
        may_be_set = bool(self.target_isr) or self.eligible_leader_replicas_enabled
        if record.isr is None and may_be_set and self.target_isr != partition.isr:
            record = replace(record, isr=list(self.target_isr))
        # 5. Remember the leader when there is none any more; forget it when there is one again.
        record = self._maybe_update_last_known_leader(record)
        # 6. Whether the leader has recovered.
        if self.target_leader_recovery_state != partition.leader_recovery_state:
            record = replace(record, leader_recovery_state=self.target_leader_recovery_state)
        return None if record == nothing else record

    def elect_leader(self) -> ElectionResult:
        """The replica that leads from now on. Kafka: `PartitionChangeBuilder.electLeader`."""
        # 1. The preferred replica first, if that is what is asked for.
        if self.election is Election.PREFERRED and self._is_valid_new_leader(self.partition.preferred_replica()):
            return ElectionResult(self.partition.preferred_replica(), unclean=False)
        # 2. The present leader stays if it can.
        if self._is_valid_new_leader(self.partition.leader):
            return ElectionResult(self.partition.leader, unclean=False)
        # 3. The first replica that is in sync and alive.
        for replica in self.partition.replicas:
            if self._is_valid_new_leader(replica):
                return ElectionResult(replica, unclean=False)
        # 4. The last known leader, if nobody is in sync or eligible.
        if self._can_elect_last_known_leader():
            return ElectionResult(self.partition.last_known_elr[0], unclean=True)
        # 5. Whoever is alive, if losing records is allowed.
        if self.election is Election.UNCLEAN:
            for replica in self.partition.replicas:
                if self.is_acceptable_leader(replica):
                    return ElectionResult(replica, unclean=True)
        # 6. Nobody.
        return ElectionResult(NO_LEADER, unclean=False)

    def _is_valid_new_leader(self, replica: int) -> bool:
        in_sync = replica in self.target_isr or (not self.target_isr and replica in self.target_elr)
        return in_sync and self.is_acceptable_leader(replica)

    def _can_elect_last_known_leader(self) -> bool:
        if not self.eligible_leader_replicas_enabled or self.target_elr or self.target_isr:
            return False
        known = self.partition.last_known_elr
        return len(known) == 1 and self.is_acceptable_leader(known[0])

    def _try_election(self, record: PartitionChangeRecord) -> PartitionChangeRecord:
        """Kafka: `PartitionChangeBuilder.tryElection`."""
        leader, unclean = self.elect_leader()
        if leader == self.partition.leader:
            return record
        if leader in self.target_elr:
            self.target_isr = (leader,)
            self.target_elr = tuple(replica for replica in self.target_elr if replica != leader)
        if not unclean:
            return replace(record, leader=leader)
        has_recovered = self.partition.leader_recovery_state is not LeaderRecoveryState.RECOVERING
        state = LeaderRecoveryState.RECOVERING if has_recovered else NO_CHANGE
        return replace(record, leader=leader, isr=[leader], leader_recovery_state=state)

    def _maybe_populate_target_elr(self) -> None:
        """Kafka: `PartitionChangeBuilder.maybePopulateTargetElr`."""
        if not self.eligible_leader_replicas_enabled:
            return
        if len(self.target_isr) >= self.min_isr:
            self.target_elr = ()
            return
        excluded = {*self.target_isr, *self.unclean_shutdown_replicas}
        # In ascending order, as Kafka's hash set of small numbers is walked.
        self.target_elr = tuple(sorted({*self.target_elr, *self.partition.isr} - excluded))

    def _maybe_update_last_known_leader(self, record: PartitionChangeRecord) -> PartitionChangeRecord:
        """Kafka: `PartitionChangeBuilder.maybeUpdateLastKnownLeader`."""
        if not self.eligible_leader_replicas_enabled:
            return record
        if record.leader == NO_LEADER and not self.partition.last_known_elr:
            return replace(record, last_known_elr=[self.partition.leader])
        if record.leader >= 0 and self.partition.last_known_elr:
            return replace(record, last_known_elr=[])
        return record
