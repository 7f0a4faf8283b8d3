"""A state machine that draws lives of three replicas in which much goes wrong, and looks after each step."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.replication.replica_world import BROKERS, MIN_ISR, World

broker_ids = st.sampled_from(BROKERS)


class Replication(RuleBasedStateMachine):
    """Draws the lives, and expects what replication promises.

    After each step:

    1. What was acknowledged with acks=all, or seen by a consumer, stays: the leader has it, whoever that is.
    2. A consumer never sees another record where it has seen one.
    3. The high watermark is not above the end of any log in the ISR.
    4. Logs are equal, byte for byte, below the least of their high watermarks.
    5. Leader epochs and partition epochs never fall.

    And in the end, when everybody is back, the logs are equal as a whole. `World` tells which deaths are allowed.

    Hypothesis draws every rule equally often, so what is to happen often has a rule of its own, and what is to happen
    now and then shares one.
    """

    acknowledged = 0
    """Requests with acks=all that have been acknowledged, in all lives together."""

    @initialize(seed=st.integers(0, 1000), level=st.sampled_from([0, 1]))
    def begin(self, seed, level):
        shared_memory = Path("/dev/shm")  # where forcing bytes to the device costs nothing
        where = shared_memory if shared_memory.is_dir() else None
        directory = Path(tempfile.mkdtemp(prefix="replication-", dir=where))
        self.world = World(directory, seed, eligible_leader_replicas_version=level)

    def is_up(self, broker_id):
        return broker_id in self.world.brokers

    def has_leader(self):
        return self.is_up(self.world.registration().leader)

    # What happens most

    @precondition(has_leader)
    @rule(
        records=st.sampled_from([1, 1, 1, 3]),
        acks=st.sampled_from([-1, -1, 1]),
        rounds=st.sampled_from([2, 2, 3, 1]),
        order=st.sampled_from([BROKERS[::-1], BROKERS[::-1], BROKERS]),
        is_read=st.booleans(),
    )
    def write(self, records, acks, rounds, order, is_read):
        """In the second round the leader learns that all have the batch, and the last follower that it knows."""
        leader = self.world.registration().leader
        if len(self.world.registration().isr) < MIN_ISR:
            acks = 1  # another producer: this one would be refused
        self.world.produce(leader, records, acks)
        for _ in range(rounds):
            self.all_follow(order=order)
        if is_read and self.is_up(leader):
            self.world.consume(leader)
        self.world.sleep(1_000)  # high watermarks are noted

    @precondition(has_leader)
    @rule(
        end=st.sampled_from(["killed", "killed", "stopped", "no power", "missed by nobody"]),
        answer=st.sampled_from(["lost", "lost", ""]),
    )
    def the_leader_goes(self, end, answer):
        """And the others ask its successor, which may be gone before it answers."""
        world = self.world
        leader = world.registration().leader
        self.die(leader, end)
        if end != "missed by nobody":
            world.controller.fence_broker(leader)
        world.publish()
        self.all_follow(answer)

    @precondition(lambda self: len(self.world.brokers) < len(BROKERS))
    @rule(broker_ids=st.sampled_from([BROKERS, BROKERS, (0,), (1,), (2,)]))
    def return_and_catch_up(self, broker_ids):
        for broker_id in broker_ids:
            if not self.is_up(broker_id):
                self.world.start(broker_id)
        self.world.publish()
        for _ in range(3):
            self.all_follow()

    def all_follow(self, answer="", order=BROKERS):
        for broker_id in order:
            if self.is_up(broker_id):
                self.world.follow(broker_id, answer)

    def die(self, broker_id, end):
        """In a way that is allowed now; a kill always is."""
        world = self.world
        if end == "stopped" and not world.late_metadata and not world.late_controller:
            world.stop(broker_id)
        elif end == "no power" and world.may_lose_power(broker_id):
            world.cut_power(broker_id)
        else:
            world.kill(broker_id)

    # What happens now and then

    @rule(
        broker_id=broker_ids,
        effects=st.integers(0, 12),
        during=st.sampled_from(["write", "follow", "publish", "sleep", "killed", "no power", "stopped"]),
    )
    def somebody_dies(self, broker_id, effects, during):
        """Between two effects on the disk, or at another moment; who was dead already is missed by now."""
        world = self.world
        acts = {
            "write": lambda: world.produce(broker_id, 3, -1),
            "follow": lambda: world.follow(broker_id),
            "publish": world.publish,
            "sleep": lambda: world.sleep(1_000),
        }
        if not self.is_up(broker_id):
            world.controller.fence_broker(broker_id)
        elif during in acts:
            world.die_after(broker_id, effects, acts[during])
        else:
            self.die(broker_id, during)
        world.publish()

    @rule(
        broker_id=broker_ids,
        number=st.integers(0, 3),
        event=st.sampled_from(
            [
                "sleep",
                "write",
                "read",
                "follow",
                "follow",
                "start",
                "late news",
                "news",
                "late controller",
                "answers",
                "delete",
            ]
        ),
    )
    def something_else(self, broker_id, number, event):
        """Time, one follower on a bad line, clients who ask the wrong broker, late news, and deletions."""
        world = self.world
        is_up = self.is_up(broker_id)
        if event == "sleep":
            world.sleep((100, 5_000, 5_001, 10_001)[number])
        elif event == "write" and is_up:  # a leader that was deposed, and does not know, takes it, too
            world.produce(broker_id, 1, number % 3 - 1)
        elif event == "read" and is_up:
            world.consume(broker_id)
        elif event == "follow" and is_up:
            world.follow(broker_id, ("", "", "lost", "twice")[number])
        elif event == "start" and not is_up:
            world.start(broker_id)
        elif event == "late news":
            world.late_metadata.add(broker_id)
        elif event == "news":
            world.late_metadata.discard(broker_id)
        elif event == "late controller":
            world.late_controller = True
        elif event == "answers":
            world.late_controller = False
            world.answer_isr_proposals()
        elif event == "delete" and (leader := world.leader()) is not None:
            log = world.log_of(leader.broker_id)
            offset = log.log_start_offset + number * (log.high_watermark - log.log_start_offset) // 3
            world.delete_records(leader.broker_id, offset)
        if event in ("start", "news"):
            world.publish()

    # What must hold

    @invariant()
    def what_counts_stays(self):
        world = self.world
        world.collect_answers()
        leader = world.leader()
        if leader is None or leader.metadata_cache.image.offset < world.controller.image.offset:
            return
        log_start = world.log_of(leader.broker_id).log_start_offset
        assert log_start <= world.deleted_up_to
        counts = {*world.acknowledged.values(), *world.consumed.values()}
        lost = {batch for batch in counts if batch.last_offset >= log_start} - set(world.batches(leader.broker_id))
        assert not lost, f"acknowledged or read, and lost: {sorted(lost)}"

    @invariant()
    def what_was_read_is_what_it_was(self):
        assert not self.world.read_twice_unequal

    @invariant()
    def the_high_watermark_is_replicated(self):
        world = self.world
        leader = world.leader()
        if leader is None or leader.metadata_cache.image.offset < world.controller.image.offset:
            return
        high_watermark = world.log_of(leader.broker_id).high_watermark
        for broker_id in world.registration().isr:
            if self.is_up(broker_id) and (log := world.log_of(broker_id)) is not None:
                assert high_watermark <= log.log_end_offset, f"broker {broker_id} ends at {log.log_end_offset}"

    @invariant()
    def logs_are_equal_below_the_high_watermarks(self):
        world = self.world
        logs = {broker_id: log for broker_id in world.brokers if (log := world.log_of(broker_id)) is not None}
        if len(logs) < 2:
            return
        until = min(log.high_watermark for log in logs.values())
        since = max(log.log_start_offset for log in logs.values())
        parts = [
            [batch for batch in world.batches(broker_id, since) if batch.last_offset < until] for broker_id in logs
        ]
        assert all(part == parts[0] for part in parts), f"logs differ between {since} and {until}: {parts}"

    @invariant()
    def epochs_never_fall(self):
        registration = self.world.registration()
        assert registration.leader_epoch >= self.world.highest_leader_epoch
        assert registration.partition_epoch >= self.world.highest_partition_epoch
        self.world.highest_leader_epoch = registration.leader_epoch
        self.world.highest_partition_epoch = registration.partition_epoch

    def teardown(self):
        try:
            self.all_are_equal_in_the_end()
            type(self).acknowledged += len(self.world.acknowledged)
        finally:
            self.world.close()

    def all_are_equal_in_the_end(self):
        world = self.world
        world.heal()
        logs = [world.log_of(broker_id) for broker_id in BROKERS]
        ends = {log.log_end_offset for log in logs}
        assert len(ends) == 1, world.describe()
        since = max(log.log_start_offset for log in logs)
        parts = [world.batches(broker_id, since) for broker_id in BROKERS]
        assert parts[0] == parts[1] == parts[2]
        assert set(world.registration().isr) == set(BROKERS), world.describe()
        assert world.log_of(world.leader().broker_id).high_watermark == ends.pop()
        self.what_counts_stays()


class OnlyLosses(Replication):
    """Looks for nothing but records that counted and are lost."""

    the_high_watermark_is_replicated = logs_are_equal_below_the_high_watermarks = what_was_read_is_what_it_was = None

    def all_are_equal_in_the_end(self):
        """Not looked at."""


class OnlyDivergence(OnlyLosses):
    """Looks for nothing but logs that differ below the high watermark."""

    what_counts_stays = None
    logs_are_equal_below_the_high_watermarks = Replication.logs_are_equal_below_the_high_watermarks


def lives(count, steps=40, **more):
    """Hypothesis's settings for that many lives of so many steps, the same ones each time."""
    fixed = {"derandomize": True, "phases": [Phase.generate]}  # shrinking takes minutes
    return settings(
        max_examples=count,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        print_blob=False,
        **fixed | more,
    )
