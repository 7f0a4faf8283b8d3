"""The ladder of the lesson *The produce path*: the minimum that counts, the leader's part, and what each partition is
told.
"""

from minikafka.cluster.partition import ACKS_ALL, Partition
from minikafka.common.errors import (
    InvalidTopicException,
    NotEnoughReplicasException,
    NotLeaderOrFollowerException,
    RecordValidationException,
)
from minikafka.common.topic import is_internal
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.harnesses import BROKERS
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.log_append_info import LeaderHwChange, LogAppendInfo
from minikafka.log.producer.verification_guard import VerificationGuard
from minikafka.server.log_append_result import LogAppendResult
from minikafka.server.replica_manager import KNOWN_APPEND_ERRORS, ReplicaManager

_FIXED = {
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.max.bytes": "1048576",
    "replica.high.watermark.checkpoint.interval.ms": "5000",
    "log.flush.offset.checkpoint.interval.ms": "60000",
}
"""Settings that are not drawn: with these a few seconds of a workload are few operations."""
_SETTINGS = "broker replica.lag.time.max.ms=10000\n"
_TWO = _SETTINGS + "start 0\nstart 1\ntopic t {} min.insync.replicas={}\npublish 0\npublish 1\n"
_ROUNDS = "follow 1\nfollow 1\n"
_ALONE = "change {} isr=0\npublish 0\npublish 1\n"


def _drawn(*weights, **knobs):
    """Knobs for workloads of brokers that mostly produce, with these weights and other knobs of the drawer."""
    without = {"delete_topic": 0, "reassign": 0, "stop": 0, "metadata": 0, "list_offsets": 0, "fetch": 4}
    return tuple({"fixed": _FIXED, "weights": {**without, "produce": 45, **each}, **knobs} for each in weights)


# Rung 1


def _effective_min_isr(self, leader_log):
    return min(leader_log.config.min_in_sync_replicas, len(self.remote_replicas) + 1)


def _minimum(of):
    def version(self, leader_log):
        return of(self, leader_log.config.min_in_sync_replicas)

    return version


_ENOUGH = (
    _TWO.format("0,1/0/0,1", 2)
    + f"produce 0 t-0 [1x10]\nproduce 0 t-1 [1x10]\n{_ROUNDS}"
    + _ALONE.format("t-0")
    + "produce 0 t-0 [1x10]\nproduce 0 acks=1 t-0 [1x10]\nproduce 0 t-1 [1x10] t-2 [1x10]\n"
    f"{_ROUNDS}settings t min.insync.replicas=3\npublish 0\nproduce 0 t-2 [1x10]\n{_ROUNDS}produce 0 t-0 [1x10]\n"
)

minimum = Rung(
    "Rung 1, the minimum that counts",
    Partition._effective_min_isr,
    why="If brokers are down, this number decides whether producers with acks=all get errors or continue to write "
    "with fewer copies.",
    invariants=(
        "It changes nothing. It returns a number of replicas, the leader included.",
        "The number is the present value of the topic's `min.insync.replicas`.",
        "But it is never more than the number of the partition's replicas, in sync or not.",
    ),
    chosen=(_ENOUGH,),
    profiles=_drawn({"settings": 6}, {"settings": 6, "change": 8}, {"change": 8}),
    returns=(int,),
    changes_nothing=True,
    harness=BROKERS,
    solution=_effective_min_isr,
    beliefs=(
        Belief(
            _minimum(lambda self, setting: setting),
            "You use the setting as it is. A partition with fewer replicas than that could never be written to with "
            "acks=all.",
        ),
        Belief(
            _minimum(lambda self, setting: min(setting, len(self.remote_replicas))),
            "You forget the leader: `remote_replicas` has only the others.",
        ),
        Belief(
            _minimum(lambda self, setting: min(setting, len(self.partition_state.isr))),
            "You count only replicas in sync. Then the minimum falls with the ISR, and no append is ever refused.",
        ),
    ),
    hints=(
        "`leader_log.config.min_in_sync_replicas` is the setting.",
        "`self.remote_replicas` has the replicas on other brokers; the leader is one more.",
        "The answer is the lesser of the two numbers.",
    ),
)


# Rung 2


def append_records_to_leader(
    self, records, origin, required_acks, verification_guard=VerificationGuard.SENTINEL, transaction_version=-1
):
    with self._lock:
        log = self.leader_log_if_local
        if log is None:
            raise NotLeaderOrFollowerException(f"this broker does not lead {self.topic_partition}")
        in_sync, least = len(self.partition_state.isr), self._effective_min_isr(log)
        if required_acks == ACKS_ALL and in_sync < least:
            raise NotEnoughReplicasException(f"{self.topic_partition} has {in_sync} in sync and needs {least}")
        info = log.append_as_leader(records, self.leader_epoch, origin, verification_guard, transaction_version)
        has_risen = self._maybe_increment_leader_hw(log, self._time.milliseconds())
    info.leader_hw_change = LeaderHwChange.INCREASED if has_risen else LeaderHwChange.SAME
    return info


def _appends(*, minds=lambda acks: acks == ACKS_ALL, first=True, change=None, raises_the_mark=True):
    """A version that minds the minimum for other acks, or later, or notes something else of the mark."""

    def require_enough(self, log, required_acks):
        if minds(required_acks) and len(self.partition_state.isr) < self._effective_min_isr(log):
            raise NotEnoughReplicasException("too few replicas are in sync")

    def version(
        self, records, origin, required_acks, verification_guard=VerificationGuard.SENTINEL, transaction_version=-1
    ):
        log = self.leader_log_if_local
        if log is None:
            raise NotLeaderOrFollowerException("another broker leads")
        if first:
            require_enough(self, log, required_acks)
        info = log.append_as_leader(records, self.leader_epoch, origin, verification_guard, transaction_version)
        if not first:
            require_enough(self, log, required_acks)
        has_risen = raises_the_mark and self._maybe_increment_leader_hw(log, self._time.milliseconds())
        info.leader_hw_change = change or (LeaderHwChange.INCREASED if has_risen else LeaderHwChange.SAME)
        return info

    return version


_LED = (
    _TWO.format("0,1/0/1,0", 2)
    + f"produce 0 t-0 [2x10]\nproduce 0 t-1 [1x10] t-2 [1x10]\nproduce 0 acks=1 t-2 [1x10]\n{_ROUNDS}"
    + _ALONE.format("t-0")
    # The second replica has all again, and its return to the ISR is proposed; until that is answered it does not count.
    + f"produce 0 t-0 [1x10]\nproduce 0 acks=1 t-0 [1x10]\n{_ROUNDS}produce 0 t-0 [1x10]\nproduce 0 acks=1 t-1 [2x10]\n"
    "change t-0 isr=0,1\npublish 0\npublish 1\nproduce 0 t-0 [1x10]\n"
    + _ALONE.format("t-0")
    + "settings t min.insync.replicas=1\npublish 0\nsleep 11000\nproduce 0 acks=1 t-0 [1x10]\nproduce 0 t-0 [1x10]\n"
)

appends = Rung(
    "Rung 2, the leader's part",
    Partition.append_records_to_leader,
    why="Before it writes a byte, the leader checks here whether enough replicas are in sync for acks=all.",
    invariants=(
        "Only the leader appends. On any other broker it raises NotLeaderOrFollowerException.",
        "With acks=all and fewer replicas in sync than the minimum, it raises NotEnoughReplicasException and writes "
        "nothing. For acks 0 and 1 the minimum does not matter.",
        "The log appends with the present leader epoch, and the method returns the log's result.",
        "After the append it calls `_maybe_increment_leader_hw`: if the leader is alone in the ISR, and that is "
        "enough, the records count as replicated. The result's `leader_hw_change` is INCREASED or SAME; waiting "
        "requests are checked again if it is INCREASED.",
    ),
    chosen=(_LED,),
    profiles=_drawn({"change": 10}, {"change": 10, "fetch": 12}, {"settings": 5, "change": 6}),
    returns=(LogAppendInfo,),
    harness=BROKERS,
    solution=append_records_to_leader,
    beliefs=(
        Belief(
            _appends(minds=lambda acks: True),
            "You refuse acks=0 and acks=1 below the minimum. The minimum is only for acks=all.",
        ),
        Belief(
            _appends(first=False),
            "You check the minimum after the append. The producer gets an error although its records are in the log.",
        ),
        Belief(
            _appends(minds=lambda acks: False),
            "You never check the minimum. The records are written, and the request waits for replicas that are not "
            "in sync.",
        ),
        Belief(
            _appends(raises_the_mark=False),
            "You never raise the high watermark here. If the leader is alone in the ISR, there may be no "
            "follower whose fetch raises it.",
        ),
        Belief(
            _appends(change=LeaderHwChange.SAME),
            "You always set SAME. Requests that wait for the high watermark are then not checked when an append "
            "raises it.",
        ),
    ),
    hints=(
        "`self.leader_log_if_local` is the log, or None if another broker leads. Kafka holds a lock (`self._lock`) "
        "from the check to the end, so that the leader cannot change meanwhile. Here only one thread runs, so the "
        "lock is not checked.",
        "The number of replicas in sync is `len(self.partition_state.isr)`, the minimum is rung 1's "
        "`self._effective_min_isr(log)`, and `ACKS_ALL` is −1.",
        "`log.append_as_leader(records, self.leader_epoch, origin, verification_guard, transaction_version)`.",
        "`self._maybe_increment_leader_hw(log, self._time.milliseconds())` is True if the high watermark rose. Set "
        "`info.leader_hw_change` to `LeaderHwChange.INCREASED` or `.SAME`.",
    ),
)


# Rung 3


def _append_to_local_log(
    self,
    internal_topics_allowed,
    origin,
    entries_per_partition,
    required_acks,
    verification_guards,
    transaction_version,
):
    results = {}
    for key, records in entries_per_partition.items():
        partition = key.topic_partition
        if is_internal(partition.topic) and not internal_topics_allowed:
            refusal = InvalidTopicException(f"Cannot append to internal topic {partition.topic}")
            results[key] = LogAppendResult(LogAppendInfo.unknown(), refusal)
            continue
        guard = verification_guards.get(partition, VerificationGuard.SENTINEL)
        try:
            info = self.get_partition_or_exception(key).append_records_to_leader(
                records, origin, required_acks, guard, transaction_version
            )
            results[key] = LogAppendResult(info)
        except KNOWN_APPEND_ERRORS as error:
            results[key] = LogAppendResult(LogAppendInfo.unknown(), error)
        except RecordValidationException as error:
            start = self._failed_append(key, error.invalid_exception)
            info = LogAppendInfo.unknown(start, error.record_errors)
            results[key] = LogAppendResult(info, error.invalid_exception, has_custom_error_message=True)
        except Exception as error:
            results[key] = LogAppendResult(LogAppendInfo.unknown(self._failed_append(key, error)), error)
    return results


def _tells(
    *,
    known=KNOWN_APPEND_ERRORS,
    ends_with_an_error=False,
    guards_internal_topics=True,
    start=ReplicaManager._failed_append,
    details=True,
):
    """A version that ends too early, or tells less, or more, of what failed."""

    def result_of(self, key, error):
        if isinstance(error, known):
            return LogAppendResult(LogAppendInfo.unknown(), error)
        if isinstance(error, RecordValidationException) and details:
            cause = error.invalid_exception
            return LogAppendResult(LogAppendInfo.unknown(start(self, key, cause), error.record_errors), cause, True)
        cause = error.invalid_exception if isinstance(error, RecordValidationException) else error
        return LogAppendResult(LogAppendInfo.unknown(start(self, key, cause)), cause)

    def version(
        self,
        internal_topics_allowed,
        origin,
        entries_per_partition,
        required_acks,
        verification_guards,
        transaction_version,
    ):
        results, failed = {}, None
        for key, records in entries_per_partition.items():
            try:
                if failed is not None and ends_with_an_error:
                    raise failed
                if guards_internal_topics and is_internal(key.topic) and not internal_topics_allowed:
                    refusal = InvalidTopicException("internal")
                    results[key] = LogAppendResult(LogAppendInfo.unknown(), refusal)
                    continue
                guard = verification_guards.get(key.topic_partition, VerificationGuard.SENTINEL)
                results[key] = LogAppendResult(
                    self.get_partition_or_exception(key).append_records_to_leader(
                        records, origin, required_acks, guard, transaction_version
                    )
                )
            except Exception as error:
                failed = error
                results[key] = result_of(self, key, error)
        return results

    return version


_MANY = (
    _TWO.format("0,1/1,0/0,1 max.message.bytes=300", 1) + "topic __consumer_offsets 0,1\npublish 0\npublish 1\n"
    "produce 0 acks=1 t-0 [1x10] t-1 [1x10] t-2 [1x10]\nproduce 0 acks=1 t-0 [1x900] t-2 [1x10]\n"
    "produce 0 acks=1 __consumer_offsets-0 [1x10 keys=1] t-0 [1x10]\n"
    "produce 0 acks=1 client=__admin_client __consumer_offsets-0 [1x10 keys=1]\n"
    "settings t message.timestamp.after.max.ms=1000\npublish 0\n"
    "produce 0 acks=1 t-0 [3x10 ts=now,now+5000,now] t-2 [1x10]\n"
    "settings t min.insync.replicas=2\npublish 0\n"
    + _ALONE.format("t-0")
    + f"produce 0 t-0 [1x10] t-2 [1x10]\n{_ROUNDS}delete_records 0 t-0@2\nproduce 0 t-0 [1x10]\n"
    "produce 0 acks=1 t-0 [1x10 pid=7 epoch=0 seq=0] t-2 [1x10]\n"
    "produce 0 acks=1 t-0 [1x10 pid=7 epoch=0 seq=5] t-2 [1x10]\n"
)

tells = Rung(
    "Rung 3, one request, many partitions",
    ReplicaManager._append_to_local_log,
    why="One request may append to many partitions, and each of them can succeed or fail by itself.",
    invariants=(
        "Each partition has a result, in the order of the request, even if others fail.",
        "For Kafka's internal topics the result has an InvalidTopicException, unless `internal_topics_allowed` is "
        "True.",
        "For an exception in `KNOWN_APPEND_ERRORS` (failures that Kafka expects here) the result has the exception and "
        "`LogAppendInfo.unknown()`.",
        "For a `RecordValidationException` the result has its cause, the record errors, a message for the client, "
        "and the log start offset.",
        "For any other exception the result has the exception and the log start offset. `self._failed_append(key, "
        "error)` logs the error and returns this offset.",
    ),
    chosen=(_MANY,),
    profiles=_drawn({}, {"settings": 5, "append": 6}, {"change": 8}, refused=0.3, producers=2),
    returns=(dict,),
    harness=BROKERS,
    solution=_append_to_local_log,
    beliefs=(
        Belief(
            _tells(ends_with_an_error=True),
            "After an error you refuse the remaining partitions. Each partition is tried separately.",
        ),
        Belief(
            _tells(guards_internal_topics=False),
            "You let every client write to Kafka's internal topics. It is allowed only if `internal_topics_allowed` "
            "is True.",
        ),
        Belief(
            _tells(known=()),
            "You return the log start offset with every error. For those in `KNOWN_APPEND_ERRORS` it must be unknown.",
        ),
        Belief(
            _tells(start=lambda self, key, error: -1),
            "You never return the log start offset. Kafka sends it with such errors; older clients used it.",
        ),
        Belief(
            _tells(details=False),
            "You report that records are invalid, but not which ones. `error.record_errors` has them, and the client "
            "gets a message.",
        ),
    ),
    hints=(
        "For each `key, records` call `self.get_partition_or_exception(key).append_records_to_leader(records, "
        "origin, required_acks, guard, transaction_version)`. The guard comes from `verification_guards`, or is "
        "`VerificationGuard.SENTINEL`.",
        "A success is `LogAppendResult(info)`, a failure is `LogAppendResult(LogAppendInfo.unknown(…), error)`.",
        "A RecordValidationException has `invalid_exception` and `record_errors`: "
        "`LogAppendInfo.unknown(start, record_errors)`, and `has_custom_error_message=True`.",
        "`self._failed_append(key, error)` logs the failure and returns the log start offset for "
        "`LogAppendInfo.unknown`.",
    ),
)

LADDER = (minimum, appends, tells)
"""The rungs in the order in which they are climbed."""
