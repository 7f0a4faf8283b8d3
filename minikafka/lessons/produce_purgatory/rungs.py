"""The ladder of the lesson *The produce purgatory*: when a request is settled, and who waits."""

from minikafka.cluster.partition import ACKS_ALL
from minikafka.common.error_codes import Errors
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.harnesses import BROKERS
from minikafka.lab.rebuild.rung import Rung
from minikafka.server.delayed_produce import DelayedProduce
from minikafka.server.replica_manager import ReplicaManager
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey

_FIXED = {
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.max.bytes": "1048576",
    "replica.high.watermark.checkpoint.interval.ms": "5000",
    "log.flush.offset.checkpoint.interval.ms": "60000",
}
"""Settings that are not drawn: with these a few seconds of a workload are few operations."""
_TWO = (
    "broker replica.lag.time.max.ms=10000\nstart 0\nstart 1\ntopic t {} min.insync.replicas={}\npublish 0\npublish 1\n"
)
_ROUNDS = "follow 1\nfollow 1\n"


def _drawn(*weights, **knobs):
    """Knobs for workloads of brokers that mostly produce, with these weights and other knobs of the drawer."""
    without = {"delete_topic": 0, "reassign": 0, "stop": 0, "metadata": 0, "list_offsets": 0, "fetch": 4}
    return tuple({"fixed": _FIXED, "weights": {**without, "produce": 45, **each}, **knobs} for each in weights)


# Rung 1


def try_complete(self):
    for topic_id_partition, status in self.produce_status:
        if not status.acks_pending:
            continue
        has_enough, error = self._status_validator(topic_id_partition.topic_partition, status.required_offset)
        if has_enough or error is not Errors.NONE:
            status.acks_pending = False
            status.response_status.error = error
    if any(status.acks_pending for _, status in self.produce_status):
        return False
    return self.force_complete()


def _completes(
    *,
    asks=lambda status: status.acks_pending,
    settles=lambda enough, error: enough or error is not Errors.NONE,
    told=True,
    waits_for=any,
    answers=True,
    offset=lambda status: status.required_offset,
):
    """A version with another idea of what settles a partition, or of when to answer."""

    def version(self):
        for topic_id_partition, status in self.produce_status:
            if asks(status):
                enough, error = self._status_validator(topic_id_partition.topic_partition, offset(status))
                if settles(enough, error):
                    status.acks_pending = False
                    if told:
                        status.response_status.error = error
        if waits_for(status.acks_pending for _, status in self.produce_status):
            return False
        return self.force_complete() if answers else True

    return version


_BOXES = (
    _TWO.format("0,1/0,1/1,0", 2) + "settings t max.message.bytes=300\npublish 0\nproduce 0 t-0 [1x900] t-1 [1x10]\n"
    "produce 0 t-0 [2x10] t-1 [1x10] t-9 [1x10]\nproduce 0 timeout=300 t-1 [1x10] t-2 [1x10]\nfollow 1\nfollow 1\n"
    "produce 0 t-0 [1x10]\nproduce 0 t-0 [1x10] t-1 [2x10]\nchange t-1 leader=1 isr=0,1\npublish 0\npublish 1\n"
    f"{_ROUNDS}follow 0\nproduce 0 timeout=100 t-0 [1x10]\nsleep 200\n{_ROUNDS}"
)

completes = Rung(
    "Rung 1, is the request settled?",
    DelayedProduce.try_complete,
    why="A response goes out once, for all partitions. Too early it is a lie; too late it is a producer that waits.",
    invariants=(
        "Only partitions that are pending are asked about; what was settled stays as it is, an error included.",
        "A partition is settled when the high watermark covers its records, or when an error says that this broker "
        "cannot know any more. Its answer then has that error, or NONE.",
        "While any partition is pending nothing is answered, and the result is False.",
        "When none is pending `force_complete` answers; its result is the result.",
    ),
    chosen=(_BOXES,),
    profiles=_drawn({"follow": 50}, {"follow": 50, "change": 8}, {"change": 12}),
    returns=(bool,),
    harness=BROKERS,
    solution=try_complete,
    beliefs=(
        Belief(
            _completes(waits_for=all),
            "You answer as soon as one partition is settled. There is one response: the slowest partition decides.",
        ),
        Belief(
            _completes(settles=lambda enough, error: enough),
            "You pass over errors. Where this broker leads no more, the high watermark never comes: the producer "
            "waits in vain.",
        ),
        Belief(
            _completes(told=False),
            "You settle a partition and leave its error as it was: REQUEST_TIMED_OUT, from the beginning.",
        ),
        Belief(
            _completes(asks=lambda status: True),
            "You ask about partitions that are settled. One that refused its records gets another error, or none.",
        ),
        Belief(
            _completes(offset=lambda status: status.required_offset - 1),
            "You ask for the last record's offset. High watermarks are exclusive: the offset after it is required.",
        ),
        Belief(
            _completes(answers=False), "You say that it is completed, and answer nobody. Call `self.force_complete()`."
        ),
    ),
    hints=(
        "`self.produce_status` has pairs: the partition (its `topic_partition` is what to ask with) and its status.",
        "`self._status_validator(partition, status.required_offset)` gives `has_enough, error`; no error is "
        "`Errors.NONE`.",
        "Settled: `status.acks_pending = False` and `status.response_status.error = error`. When none is pending: "
        "`return self.force_complete()`.",
    ),
)


# Rung 2


def _maybe_add_delayed_produce(self, required_acks, timeout_ms, results, produce_status, response_callback):
    took_any = any(result.exception is None for result in results.values())
    if required_acks != ACKS_ALL or not took_any:
        response_callback({key: status.response_status for key, status in produce_status.items()})
        return
    delayed = DelayedProduce(timeout_ms, produce_status, self._enough_replicas, response_callback)
    keys = [TopicPartitionOperationKey.of(key.topic_partition) for key in produce_status]
    self.delayed_produce_purgatory.try_complete_else_watch(delayed, keys)


def _adds(
    *,
    must_wait=lambda acks, errors: acks == ACKS_ALL and None in errors,
    keys=lambda partitions: partitions,
    patience=lambda timeout_ms: timeout_ms,
):
    """A version that lets other requests wait, or under other keys, or for another time."""

    def version(self, required_acks, timeout_ms, results, produce_status, response_callback):
        if not must_wait(required_acks, [result.exception for result in results.values()]):
            response_callback({key: status.response_status for key, status in produce_status.items()})
            return
        delayed = DelayedProduce(patience(timeout_ms), produce_status, self._enough_replicas, response_callback)
        watched = keys([TopicPartitionOperationKey.of(key.topic_partition) for key in produce_status])
        self.delayed_produce_purgatory.try_complete_else_watch(delayed, watched)

    return version


_WAITING = (
    _TWO.format("0,1/0,1/1,0", 2) + "produce 0 t-2 [1x10]\nproduce 0 acks=1 t-0 [1x10]\nproduce 0 acks=0 t-0 [1x10]\n"
    f"produce 0 t-0 [1x10] t-2 [1x10]\n{_ROUNDS}produce 0 timeout=1000 t-0 [1x10] t-1 [1x10]\n{_ROUNDS}"
    f"produce 0 timeout=0 t-0 [1x10]\nproduce 0 timeout=200 t-1 [1x10]\nsleep 199\nsleep 1\n{_ROUNDS}"
)

adds = Rung(
    "Rung 2, answer now or wait",
    ReplicaManager._maybe_add_delayed_produce,
    why="A request that waits costs a producer's patience and a place in the purgatory; its records have been let go. "
    "One that does not wait promises less.",
    invariants=(
        "Only acks=all waits, and only if at least one partition took its records.",
        "Any other request is answered here: the callback is called, with the answer of each partition.",
        "One that has to wait is tried at once, and then watched under the keys of all its partitions, for "
        "`timeout_ms` at most.",
        "It returns nothing.",
    ),
    chosen=(_WAITING,),
    profiles=_drawn({"follow": 50}, {"follow": 50, "sleep": 20}, {"change": 8}),
    returns=(type(None),),
    harness=BROKERS,
    solution=_maybe_add_delayed_produce,
    beliefs=(
        Belief(
            _adds(must_wait=lambda acks, errors: None in errors),
            "You let acks=0 and acks=1 wait as well. The leader's log is all that they ask for.",
        ),
        Belief(
            _adds(must_wait=lambda acks, errors: acks == ACKS_ALL and set(errors) == {None}),
            "You answer as soon as one partition refuses. The others took their records, and those are not "
            "replicated yet.",
        ),
        Belief(
            _adds(keys=lambda partitions: partitions[:1]),
            "You watch the first partition alone. When the last one's mark rises, nobody asks the request.",
        ),
        Belief(
            _adds(patience=lambda timeout_ms: 30_000), "You wait for 30 seconds. The request says how long it may take."
        ),
    ),
    hints=(
        "`results` has for each partition what became of it: `result.exception` is None where it took its records.",
        "The answers as they stand: `{key: status.response_status for key, status in produce_status.items()}`.",
        "`DelayedProduce(timeout_ms, produce_status, self._enough_replicas, response_callback)` goes, with "
        "`TopicPartitionOperationKey.of(key.topic_partition)` of each partition, to "
        "`self.delayed_produce_purgatory.try_complete_else_watch(…)`.",
    ),
)

LADDER = (completes, adds)
"""The rungs in the order in which they are climbed."""
