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
    why="It decides which producers stop when a broker is down, and which go on and lose what they were promised.",
    invariants=(
        "It only asks: its answer is a number of replicas, the leader among them.",
        "It is what the topic's `min.insync.replicas` says at that moment.",
        "It is never more than the partition has replicas, whether they are in sync or not.",
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
            "You take the setting as it is. A partition with fewer replicas than that could never be written with "
            "acks=all.",
        ),
        Belief(
            _minimum(lambda self, setting: min(setting, len(self.remote_replicas))),
            "You forget the leader: `remote_replicas` has only the others.",
        ),
        Belief(
            _minimum(lambda self, setting: min(setting, len(self.partition_state.isr))),
            "You count the replicas that are in sync. Then the minimum shrinks with the ISR, and refuses nobody.",
        ),
    ),
    hints=(
        "`leader_log.config.min_in_sync_replicas` is the setting.",
        "`self.remote_replicas` has the replicas on other brokers; the leader is one more.",
        "The lesser of the two.",
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
    + f"produce 0 t-0 [1x10]\nproduce 0 acks=1 t-0 [1x10]\n{_ROUNDS}produce 0 acks=1 t-1 [2x10]\n"
    "change t-0 isr=0,1\npublish 0\npublish 1\nproduce 0 t-0 [1x10]\n"
    + _ALONE.format("t-0")
    + "settings t min.insync.replicas=1\npublish 0\nsleep 11000\nproduce 0 acks=1 t-0 [1x10]\nproduce 0 t-0 [1x10]\n"
)

appends = Rung(
    "Rung 2, the leader's part",
    Partition.append_records_to_leader,
    why="Here it is decided, before a byte is written, whether the promise of acks=all can be kept at all.",
    invariants=(
        "Only the leader appends; any other broker raises NotLeaderOrFollowerException.",
        "With acks=all and fewer replicas in sync than the minimum it raises NotEnoughReplicasException, and nothing "
        "is written. 0 and 1 do not mind.",
        "The log appends in the present leader epoch, and its result is returned.",
        "Then the high watermark is asked to rise: where the leader is alone the records are replicated already. The "
        "result notes INCREASED or SAME, by which whoever waits is woken.",
    ),
    chosen=(_LED,),
    profiles=_drawn({"change": 10}, {"change": 10, "fetch": 12}, {"settings": 5, "change": 6}),
    returns=(LogAppendInfo,),
    harness=BROKERS,
    solution=append_records_to_leader,
    beliefs=(
        Belief(
            _appends(minds=lambda acks: True),
            "You refuse acks=0 and acks=1 below the minimum. It protects only those who ask for it.",
        ),
        Belief(
            _appends(first=False),
            "You ask for the minimum after the append. The producer is refused, and its records are in the log.",
        ),
        Belief(
            _appends(minds=lambda acks: False),
            "You never ask for the minimum. The record is taken, and waits for replicas that are not there.",
        ),
        Belief(
            _appends(raises_the_mark=False),
            "You leave the high watermark to the followers. A leader that is alone in the ISR has none.",
        ),
        Belief(
            _appends(change=LeaderHwChange.SAME),
            "You always note SAME. Whoever waits for the high watermark is not woken when it rises with an append.",
        ),
    ),
    hints=(
        "`self.leader_log_if_local` is the log, None where another broker leads. Holding `self._lock` meanwhile "
        "keeps the leader from changing between question and append; here one thread works, and nobody checks it.",
        "In sync: `len(self.partition_state.isr)`; the minimum: rung 1's `self._effective_min_isr(log)`; all is "
        "`ACKS_ALL`, −1.",
        "`log.append_as_leader(records, self.leader_epoch, origin, verification_guard, transaction_version)`.",
        "`self._maybe_increment_leader_hw(log, self._time.milliseconds())` is True where the mark rose; set "
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
    why="A request for many partitions is many appends. A client that reads only one of the answers is wrong about the "
    "rest.",
    invariants=(
        "Each partition has a result, in the order of the request, whatever becomes of the others.",
        "Kafka's own topics are refused with InvalidTopicException, unless they are allowed.",
        "Of the failures that Kafka expects here (`KNOWN_APPEND_ERRORS`) the error is told, and no log start.",
        "Records that break a rule: the cause, which records, a message for the client, and the log start.",
        "Any other exception: its code, and the log start (`self._failed_append(partition, error)` logs it, and has "
        "the start).",
    ),
    chosen=(_MANY,),
    profiles=_drawn({}, {"settings": 5, "append": 6}, {"change": 8}, refused=0.3, producers=2),
    returns=(dict,),
    harness=BROKERS,
    solution=_append_to_local_log,
    beliefs=(
        Belief(
            _tells(ends_with_an_error=True),
            "You refuse what comes after an error. Each partition is tried by itself.",
        ),
        Belief(
            _tells(guards_internal_topics=False),
            "You let everybody write to Kafka's own topics. Only those may for whom they are allowed.",
        ),
        Belief(
            _tells(known=()),
            "You tell the log start beside every error. Beside `KNOWN_APPEND_ERRORS` Kafka tells none.",
        ),
        Belief(
            _tells(start=lambda self, key, error: -1),
            "You never tell the log start. Kafka sends it beside such errors; older clients decided by it.",
        ),
        Belief(
            _tells(details=False),
            "You tell that records are invalid, and not which. `error.record_errors` has them, and the message is "
            "for the client.",
        ),
    ),
    hints=(
        "For each `key, records`: `self.get_partition_or_exception(key)` and its `append_records_to_leader(records, "
        "origin, required_acks, guard, transaction_version)`, with the guard of `verification_guards` or "
        "`VerificationGuard.SENTINEL`.",
        "Success is `LogAppendResult(info)`; a failure `LogAppendResult(LogAppendInfo.unknown(…), error)`.",
        "A RecordValidationException has `invalid_exception` and `record_errors`: "
        "`LogAppendInfo.unknown(start, record_errors)`, and `has_custom_error_message=True`.",
        "`self._failed_append(key, error)` logs the failure and returns the log start for `LogAppendInfo.unknown`.",
    ),
)

LADDER = (minimum, appends, tells)
"""The rungs in the order in which they are climbed."""
