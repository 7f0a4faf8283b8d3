"""A state machine that draws what three replicas do while much goes wrong, and looks after each step."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.slow.replication.replicas import BROKERS, MIN_ISR, Replicas

broker_ids = st.sampled_from(BROKERS)


class Replication(RuleBasedStateMachine):
    """Draws the steps, and expects what replication promises.

    After each step:

    1. What was acknowledged with acks=all, or seen by a consumer, stays: the leader has it, whoever that is.
    2. A consumer never sees another record where it has seen one.
    3. The high watermark is not above the end of any log in the ISR.
    4. Logs are equal, byte for byte, below the least of their high watermarks.
    5. Leader epochs and partition epochs never fall.

    And in the end, when everybody is back, the logs are equal as a whole. `Replicas` tells who may be killed when.

    Hypothesis draws every rule equally often, so what is to happen often has a rule of its own, and what is to happen
    now and then shares one.
    """

    acknowledged = 0
    """Requests with acks=all that have been acknowledged, in all examples together."""

    @initialize(seed=st.integers(0, 1000), level=st.sampled_from([0, 1]))
    def begin(self, seed, level):
        shared_memory = Path("/dev/shm")  # where forcing bytes to the device costs nothing
        where = shared_memory if shared_memory.is_dir() else None
        directory = Path(tempfile.mkdtemp(prefix="replication-", dir=where))
        self.replicas = Replicas(directory, seed, eligible_leader_replicas_version=level)

    def is_up(self, broker_id):
        return broker_id in self.replicas.brokers

    def has_leader(self):
        return self.is_up(self.replicas.registration().leader)

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
        leader = self.replicas.registration().leader
        if len(self.replicas.registration().isr) < MIN_ISR:
            acks = 1  # another producer: this one would be refused
        self.replicas.produce(leader, records, acks)
        for _ in range(rounds):
            self.all_follow(order=order)
        if is_read and self.is_up(leader):
            self.replicas.consume(leader)
        self.replicas.sleep(1_000)  # high watermarks are noted

    @precondition(has_leader)
    @rule(
        end=st.sampled_from(["killed", "killed", "stopped", "no power", "missed by nobody"]),
        answer=st.sampled_from(["lost", "lost", ""]),
    )
    def the_leader_goes(self, end, answer):
        """And the others ask its successor, which may be gone before it answers."""
        replicas = self.replicas
        leader = replicas.registration().leader
        self.die(leader, end)
        if end != "missed by nobody":
            replicas.controller.fence_broker(leader)
        replicas.publish()
        self.all_follow(answer)

    @precondition(lambda self: len(self.replicas.brokers) < len(BROKERS))
    @rule(broker_ids=st.sampled_from([BROKERS, BROKERS, (0,), (1,), (2,)]))
    def return_and_catch_up(self, broker_ids):
        for broker_id in broker_ids:
            if not self.is_up(broker_id):
                self.replicas.start(broker_id)
        self.replicas.publish()
        for _ in range(3):
            self.all_follow()

    def all_follow(self, answer="", order=BROKERS):
        for broker_id in order:
            if self.is_up(broker_id):
                self.replicas.follow(broker_id, answer)

    def die(self, broker_id, end):
        """In a way that is allowed now; a kill always is."""
        replicas = self.replicas
        if end == "stopped" and not replicas.late_metadata and not replicas.late_controller:
            replicas.stop(broker_id)
        elif end == "no power" and replicas.may_lose_power(broker_id):
            replicas.cut_power(broker_id)
        else:
            replicas.kill(broker_id)

    # What happens now and then

    @rule(
        broker_id=broker_ids,
        effects=st.integers(0, 12),
        during=st.sampled_from(["write", "follow", "publish", "sleep", "killed", "no power", "stopped"]),
    )
    def somebody_dies(self, broker_id, effects, during):
        """Between two effects on the disk, or at another moment; who was dead already is missed by now."""
        replicas = self.replicas
        steps = {
            "write": lambda: replicas.produce(broker_id, 3, -1),
            "follow": lambda: replicas.follow(broker_id),
            "publish": replicas.publish,
            "sleep": lambda: replicas.sleep(1_000),
        }
        if not self.is_up(broker_id):
            replicas.controller.fence_broker(broker_id)
        elif during in steps:
            replicas.die_after(broker_id, effects, steps[during])
        else:
            self.die(broker_id, during)
        replicas.publish()

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
        replicas = self.replicas
        is_up = self.is_up(broker_id)
        if event == "sleep":
            replicas.sleep((100, 5_000, 5_001, 10_001)[number])
        elif event == "write" and is_up:  # a leader that was deposed, and does not know, takes it, too
            replicas.produce(broker_id, 1, number % 3 - 1)
        elif event == "read" and is_up:
            replicas.consume(broker_id)
        elif event == "follow" and is_up:
            replicas.follow(broker_id, ("", "", "lost", "twice")[number])
        elif event == "start" and not is_up:
            replicas.start(broker_id)
        elif event == "late news":
            replicas.late_metadata.add(broker_id)
        elif event == "news":
            replicas.late_metadata.discard(broker_id)
        elif event == "late controller":
            replicas.late_controller = True
        elif event == "answers":
            replicas.late_controller = False
            replicas.answer_isr_proposals()
        elif event == "delete" and (leader := replicas.leader()) is not None:
            log = replicas.log_of(leader.broker_id)
            offset = log.log_start_offset + number * (log.high_watermark - log.log_start_offset) // 3
            replicas.delete_records(leader.broker_id, offset)
        if event in ("start", "news"):
            replicas.publish()

    # What must hold

    @invariant()
    def what_counts_stays(self):
        replicas = self.replicas
        replicas.collect_answers()
        leader = replicas.leader()
        if leader is None or leader.metadata_cache.image.offset < replicas.controller.image.offset:
            return
        log_start = replicas.log_of(leader.broker_id).log_start_offset
        assert log_start <= replicas.deleted_up_to
        counts = {*replicas.acknowledged.values(), *replicas.consumed.values()}
        lost = {batch for batch in counts if batch.last_offset >= log_start} - set(replicas.batches(leader.broker_id))
        assert not lost, f"acknowledged or read, and lost: {sorted(lost)}"

    @invariant()
    def what_was_read_is_what_it_was(self):
        assert not self.replicas.read_twice_unequal

    @invariant()
    def the_high_watermark_is_replicated(self):
        replicas = self.replicas
        leader = replicas.leader()
        if leader is None or leader.metadata_cache.image.offset < replicas.controller.image.offset:
            return
        high_watermark = replicas.log_of(leader.broker_id).high_watermark
        for broker_id in replicas.registration().isr:
            if self.is_up(broker_id) and (log := replicas.log_of(broker_id)) is not None:
                assert high_watermark <= log.log_end_offset, f"broker {broker_id} ends at {log.log_end_offset}"

    @invariant()
    def logs_are_equal_below_the_high_watermarks(self):
        replicas = self.replicas
        logs = {broker_id: log for broker_id in replicas.brokers if (log := replicas.log_of(broker_id)) is not None}
        if len(logs) < 2:
            return
        until = min(log.high_watermark for log in logs.values())
        since = max(log.log_start_offset for log in logs.values())
        parts = [
            [batch for batch in replicas.batches(broker_id, since) if batch.last_offset < until] for broker_id in logs
        ]
        assert all(part == parts[0] for part in parts), f"logs differ between {since} and {until}: {parts}"

    @invariant()
    def epochs_never_fall(self):
        registration = self.replicas.registration()
        assert registration.leader_epoch >= self.replicas.highest_leader_epoch
        assert registration.partition_epoch >= self.replicas.highest_partition_epoch
        self.replicas.highest_leader_epoch = registration.leader_epoch
        self.replicas.highest_partition_epoch = registration.partition_epoch

    def teardown(self):
        try:
            self.all_are_equal_in_the_end()
            type(self).acknowledged += len(self.replicas.acknowledged)
        finally:
            self.replicas.close()

    def all_are_equal_in_the_end(self):
        replicas = self.replicas
        replicas.heal()
        logs = [replicas.log_of(broker_id) for broker_id in BROKERS]
        ends = {log.log_end_offset for log in logs}
        assert len(ends) == 1, replicas.describe()
        since = max(log.log_start_offset for log in logs)
        parts = [replicas.batches(broker_id, since) for broker_id in BROKERS]
        assert parts[0] == parts[1] == parts[2]
        assert set(replicas.registration().isr) == set(BROKERS), replicas.describe()
        assert replicas.log_of(replicas.leader().broker_id).high_watermark == ends.pop()
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


def examples(count, steps=40, **more):
    """Hypothesis's settings for that many examples of so many steps, the same ones each time."""
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
