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
    why="There is one response for all partitions. If it is sent too early, it may be wrong; if too late, the "
    "producer waits longer than necessary.",
    invariants=(
        "It checks only partitions that are pending. The others do not change, nor do their errors.",
        "A partition is settled if the high watermark has reached its required offset, or if there is an error. Then "
        "it is not pending any more, and its answer has this error or NONE.",
        "While a partition is pending, it sends no answer and returns False.",
        "If no partition is pending, it calls `force_complete()`, which answers, and returns its result.",
    ),
    chosen=(
        _BOXES,
        # The first partition waits until the time is over, and the second one has no other replica.
        _TWO.format("0,1/0", 1) + "produce 0 timeout=100 t-0 [1x10] t-1 [1x10]\nsleep 200\n",
    ),
    profiles=_drawn({"follow": 50}, {"follow": 50, "change": 8}, {"change": 12}),
    returns=(bool,),
    harness=BROKERS,
    solution=try_complete,
    beliefs=(
        Belief(
            _completes(waits_for=all),
            "You answer as soon as one partition is settled. There is one response for all: wait until the last "
            "partition is settled.",
        ),
        Belief(
            _completes(settles=lambda enough, error: enough),
            "You ignore errors. If this broker no longer leads, the high watermark does not reach the offset here, "
            "and the producer waits in vain.",
        ),
        Belief(
            _completes(told=False),
            "You settle a partition but do not set its error. It still has the first value, REQUEST_TIMED_OUT.",
        ),
        Belief(
            _completes(asks=lambda status: True),
            "You check partitions that are already settled. A partition that refused its records then gets another "
            "error, or none.",
        ),
        Belief(
            _completes(offset=lambda status: status.required_offset - 1),
            "You use the last record's offset. A high watermark is exclusive: use the required offset, one more.",
        ),
        Belief(_completes(answers=False), "You return True but send no answer. Call `self.force_complete()`."),
    ),
    hints=(
        "`self.produce_status` has pairs: the partition (use its `topic_partition`) and its status.",
        "`self._status_validator(partition, status.required_offset)` gives `has_enough, error`; no error is "
        "`Errors.NONE`.",
        "If it is settled: `status.acks_pending = False` and `status.response_status.error = error`. If none is "
        "pending: `return self.force_complete()`.",
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
    f"produce 0 t-2 [1x10] t-0 [1x10]\n{_ROUNDS}produce 0 timeout=1000 t-0 [1x10] t-1 [1x10]\n{_ROUNDS}"
    f"produce 0 timeout=0 t-0 [1x10]\nproduce 0 timeout=200 t-1 [1x10]\nsleep 199\nsleep 1\n{_ROUNDS}"
)

adds = Rung(
    "Rung 2, answer now or wait",
    ReplicaManager._maybe_add_delayed_produce,
    why="This method decides whether the producer gets its answer at once, or only when its records are replicated.",
    invariants=(
        "A request waits only with acks=all, and only if at least one partition has appended its records.",
        "Any other request is answered at once: call the callback with the answer of each partition.",
        "A request that must wait goes to `try_complete_else_watch`, with the keys of all its partitions. This "
        "checks it at once, and then watches it for at most `timeout_ms`.",
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
            "You let acks=0 and acks=1 wait as well. For them the leader's log is enough.",
        ),
        Belief(
            _adds(must_wait=lambda acks, errors: acks == ACKS_ALL and set(errors) == {None}),
            "You answer as soon as one partition refuses its records. The others have appended theirs, and these are "
            "not replicated yet.",
        ),
        Belief(
            _adds(keys=lambda partitions: partitions[:1]),
            "You watch only the first partition. When the high watermark of another one rises, the request is not "
            "checked.",
        ),
        Belief(
            _adds(patience=lambda timeout_ms: 30_000),
            "You always wait for up to 30 seconds. The request has its own timeout.",
        ),
    ),
    hints=(
        "`results` has the result of each partition: `result.exception` is None if its records were appended.",
        "The answers are `{key: status.response_status for key, status in produce_status.items()}`.",
        "Make `DelayedProduce(timeout_ms, produce_status, self._enough_replicas, response_callback)`, and a list of "
        "`TopicPartitionOperationKey.of(key.topic_partition)` for all partitions. Give both to "
        "`self.delayed_produce_purgatory.try_complete_else_watch(…)`.",
    ),
)

LADDER = (completes, adds)
"""The rungs in the order in which they are climbed."""
