"""A learner's function in the engine's place: where it is called, what is told of its faults, what is left behind."""

import inspect
import sys
import threading

import pytest

from minikafka.common import plain_ways
from minikafka.lab import fresh_log, records, step_through
from minikafka.lab.exercises.prediction import ___
from minikafka.lab.rebuild import learners_code
from minikafka.lab.rebuild import rung as rung_module
from minikafka.lab.rebuild import trial as trial_module
from minikafka.lab.rebuild.learners_code import Guard, LearnersError
from minikafka.lab.rebuild.mine import WrongParametersError, calls_told, mine
from minikafka.lessons.segments.rungs import looks_up, rolls
from minikafka.log.log import Log
from minikafka.log.log_segment import LogSegment
from minikafka.record.files.file_records import LogOffsetPosition
from minikafka.record.format import record_writer, varint
from minikafka.record.format.record_batch import RecordBatch
from minikafka.record.kernels import kernel, record_columns
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import Workload


@pytest.fixture
def engine_judges(monkeypatch):
    """As on a machine without Kafka's jars."""
    for module in (trial_module, rung_module):
        monkeypatch.setattr(module, "judge_name", lambda: trial_module.ENGINE)


def never_rolls(self, roll_params):
    return False


def filled(log):
    for _ in range(4):
        log.append_as_leader(records(3), leader_epoch=0)
    return log.number_of_segments


def test_the_engine_calls_the_function_and_is_whole_afterwards():
    settings = {"internal.segment.bytes": 200}
    original = LogSegment.__dict__["should_roll"]
    with mine(LogSegment.should_roll, never_rolls):
        assert filled(fresh_log(settings)) == 1
    assert LogSegment.__dict__["should_roll"] is original
    assert filled(fresh_log(settings)) == 4


@pytest.mark.parametrize("error", [ValueError("so"), KeyboardInterrupt()])
def test_the_engine_is_whole_after_an_exception(error):
    original = LogSegment.__dict__["should_roll"]
    with pytest.raises(type(error)), mine(LogSegment.should_roll, never_rolls):
        raise error
    assert LogSegment.__dict__["should_roll"] is original


def test_properties_static_methods_and_functions_of_modules_are_replaced_where_they_are_used():
    with mine(Log.last_stable_offset, lambda self: 7):
        assert fresh_log().last_stable_offset == 7
    assert fresh_log().last_stable_offset == 0
    with mine(LogOffsetPosition.from_batch, lambda batch: "mine"):
        assert LogOffsetPosition.from_batch(None) == "mine"
    users = [name for name, value in vars(varint).items() if value is varint.size_of_varint]
    with mine(varint.size_of_varint, lambda value: 9):
        assert users
        assert varint.size_of_varint(1) == 9
    assert varint.size_of_varint(1) == 1


@pytest.fixture
def compiled():
    """The compiled kernel, which calls none but compiled functions."""
    if not record_columns.use_compiled_kernel():
        pytest.skip("numba does not work here")


def test_reading_goes_through_the_function_though_a_compiled_kernel_is_in_use(compiled):
    log, calls = fresh_log(), []

    def counting(data, position, end):
        calls.append(position)
        return kernel.read_varlong(data, position, end)

    with mine(kernel.read_varint, counting):
        log.append_as_leader(records(3), leader_epoch=0)
        assert len(calls) == 3 * 5  # size, offset delta, key, value and headers of each record
        assert len(list(next(log.log_segments[0].log.batches()))) == 3
        assert len(calls) == 2 * 3 * 5
    assert record_columns.kernel_in_use() == "compiled"


CLEANED = """config cleanup.policy=compact min.cleanable.dirty.ratio=0
append_as_leader [3x10 keys=2]
roll leo
update_high_watermark leo
clean
"""


@pytest.mark.parametrize(
    ("method", "through"),
    [(varint.write_varint, 6), (record_writer.write_record, 1), (RecordBatch.compute_checksum, 1)],
)
def test_cleaning_writes_through_the_function_and_not_round_it(compiled, tmp_path, method, through):
    """One of three records is hidden by a younger one, so the cleaner writes the batch anew."""
    calls = []

    def counting(*args):
        calls.append(args)
        return method(*args)

    counting.__signature__ = inspect.signature(method)
    workload = Workload.parse(CLEANED)
    runner = Runner(minikafka_log, tmp_path / "t-0", workload)
    with mine(method, counting):
        for operation in workload.operations[:-1]:
            assert not runner.apply(operation).error
        before = len(calls)
        assert not runner.apply(workload.operations[-1]).error
    runner.let_go()
    assert len(calls) - before >= through


def test_what_a_client_sends_is_not_made_by_the_function():
    batch = Batch.parse("[3x10 headers=1]")
    right = batch.encode(0)
    with mine(varint.write_varint, lambda value, out: out.append(0)):
        assert batch.encode(0) == right


def test_other_threads_keep_the_engines_own_method():
    found = []
    with mine(LogSegment.should_roll, never_rolls):
        thread = threading.Thread(target=lambda: found.append(filled(fresh_log({"internal.segment.bytes": 200}))))
        thread.start()
        thread.join()
    assert found == [4]


@pytest.mark.slow
def test_the_stepper_walks_through_the_function():
    log = fresh_log()
    with mine(LogSegment.should_roll, never_rolls):
        walk = step_through(log.append_as_leader, records(1), leader_epoch=0, into={"never_rolls"})
    assert [(frame.method.name, frame.outcome) for frame in walk.frames] == [("never_rolls", "returned False")]


def test_another_signature_is_refused_before_anything_runs():
    told = r"takes \(self, roll_params\); yours takes \(segment\)"
    with pytest.raises(WrongParametersError, match=told), mine(LogSegment.should_roll, lambda segment: True):
        pass
    assert "yours takes" in rolls.check(lambda segment: True).words


def test_what_is_no_method_of_minikafka_is_refused():
    with pytest.raises(TypeError, match="no method of minikafka"), mine(len, len):
        pass


def test_the_stub_is_not_attempted(engine_judges):
    verdict = rolls.check(lambda self, roll_params: ___)
    assert (verdict.state, bool(verdict)) == ("not attempted", False)


def test_an_exception_is_told_with_its_line_the_arguments_and_the_log(engine_judges):
    def broken(self, roll_params):
        limit = roll_params.max_segment_bytes
        return self.sise > limit

    verdict = rolls.check(broken)
    assert "AttributeError: 'LogSegment' object has no attribute 'sise'" in verdict.words
    assert "return self.sise > limit" in verdict.words
    assert "self = LogSegment(0, 0 B), roll_params = RollParams(" in verdict.words
    assert "While the engine did: append_as_leader" in verdict.words
    assert "<svg" in rolls.check(_fails_later())._repr_html_()


def _fails_later():
    calls = []

    def broken(self, roll_params):
        calls.append(1)
        return 1 / (3 - len(calls)) < 0

    return broken


def loops(self, roll_params):
    while True:
        sum(range(100))


def loops_and_catches_everything(self, roll_params):
    while True:
        try:
            sum(range(100))
        except:  # noqa: E722
            pass


@pytest.mark.slow
@pytest.mark.parametrize("endless", [loops, loops_and_catches_everything])
def test_an_endless_loop_ends(endless):
    log, told = fresh_log(), r"not ended after 0\.2 seconds[\s\S]*Line \d+: "
    with pytest.raises(LearnersError, match=told), mine(LogSegment.should_roll, endless, Guard(limit_s=0.2)):
        log.append_as_leader(records(1), leader_epoch=0)
    assert filled(fresh_log({"internal.segment.bytes": 200})) == 4


@pytest.mark.slow
def test_an_endless_loop_ends_where_no_system_interrupts_it(monkeypatch):
    monkeypatch.setattr(learners_code, "HAS_ALARMS", False)
    log, tracing = fresh_log(), sys.gettrace()
    told = r"not ended after 0\.1 seconds[\s\S]*Line \d+: "
    with pytest.raises(LearnersError, match=told), mine(LogSegment.should_roll, loops, Guard(limit_s=0.1)):
        log.append_as_leader(records(1), leader_epoch=0)
    assert sys.gettrace() is tracing
    assert filled(fresh_log({"internal.segment.bytes": 200})) == 4


def test_what_it_calls_of_minikafka_is_not_left_half_done(monkeypatch):
    monkeypatch.setattr(learners_code, "HAS_ALARMS", False)
    done = []

    def calls_minikafka(self, roll_params):
        done.append(plain_ways.crc32c(bytes(100_000)))
        return False

    log = fresh_log()
    with (
        pytest.raises(LearnersError, match="not ended after 0.001 seconds"),
        mine(LogSegment.should_roll, calls_minikafka, Guard(limit_s=0.001)),
    ):
        log.append_as_leader(records(1), leader_epoch=0)
    assert len(done) == 1


def test_the_time_is_shared_by_all_calls():
    import time

    def slow(self, roll_params):
        time.sleep(0.05)
        return False

    log = fresh_log()
    with pytest.raises(LearnersError, match="not ended"), mine(LogSegment.should_roll, slow, Guard(limit_s=0.12)):
        for _ in range(5):
            log.append_as_leader(records(1), leader_epoch=0)


def test_many_calls_that_are_short_have_an_end_too():
    """Where the engine calls again and again because of what the function returns, no single call is too long."""
    held = Guard(limit_s=0.002).around(lambda: sum(range(100)))
    with pytest.raises(LearnersError, match="not ended"):
        for _ in range(5_000):
            held()


@pytest.mark.parametrize("result", [1, 0, "yes", None])
def test_a_result_of_another_type_is_told(engine_judges, result):
    words = rolls.check(lambda self, roll_params: result).words
    assert f"of the type {type(result).__name__}; the method returns bool" in words


def test_a_function_that_changes_its_arguments_is_told(engine_judges):
    def changing(self, roll_params):
        self.index_interval_bytes = 1
        return False

    assert "changed what it was given" in rolls.check(changing).words


def test_recursion_and_exit_are_errors_of_the_function(engine_judges):
    def recursive(self, target_offset):
        return self.lookup(target_offset)

    def leaving(self, target_offset):
        raise SystemExit

    assert "RecursionError" in looks_up.check(recursive).words
    assert "SystemExit" in looks_up.check(leaving).words


def test_an_error_before_the_first_operation_is_told_with_its_line(engine_judges):
    """A new log is searched when it opens, and its index has no entry."""

    def without_a_look_at_the_count(self, target_offset):
        return self.entry(0)

    words = looks_up.check(without_a_look_at_the_count).words
    assert "a new, empty log does not open: IllegalArgumentException: " in words
    assert "return self.entry(0)" in words


def test_a_plain_tuple_is_no_place_in_an_index(engine_judges):
    words = looks_up.check(lambda self, target_offset: (self.base_offset, 0)).words
    assert "of the type tuple; the method returns OffsetPosition" in words


@pytest.mark.slow
def test_a_search_that_finds_the_record_by_detours_is_told_all_the_same(engine_judges):
    first = looks_up.check(looks_up.beliefs[0].function).words
    assert "your function is not: called with self" in first
    assert first.endswith("most offsets have no entry.")


def test_the_solution_opens_after_a_try_and_is_counted(engine_judges, monkeypatch):
    from minikafka.lab.exercises import progress
    from minikafka.lab.rebuild.rung import Rung

    kept = []
    monkeypatch.setattr(progress, "note", lambda *told, **counts: kept.append((*told, counts)))

    fresh = Rung(
        "Rung", LogSegment.should_roll, why="", invariants=(), chosen=("append_as_leader [1x10]\n",), profiles=(),
        solution=rolls.solved_by(), beliefs=(), hints=("one", "two"),
    )  # fmt: skip
    assert "first" in fresh.solution()
    fresh.check(lambda self, roll_params: ___)
    assert "first" in fresh.solution()
    fresh.check(never_rolls)
    assert fresh.solution().startswith("def should_roll(self, roll_params):")
    assert kept == [
        ("rungs", "Rung", "correct", {}),
        ("rungs", "Rung", "", {"tries": 0, "solutions_seen": 1}),
    ]
    assert [fresh.hint(), fresh.hint(), fresh.hint()] == ["Hint 1 of 2: one", "Hint 2 of 2: two", "Hint 2 of 2: two"]


def test_a_rung_whose_method_is_never_called_is_an_error(engine_judges):
    from minikafka.lab.rebuild.rung import Rung

    idle = Rung(
        "Rung", LogSegment.should_roll, why="", invariants=(), chosen=("tick 1\n",), profiles=(),
        solution=rolls.solved_by(), beliefs=(), hints=("",),
    )  # fmt: skip
    with pytest.raises(AssertionError, match="nothing was judged"):
        idle.check(never_rolls)


def test_calls_are_told_once_and_only_of_this_thread():
    told, log = [], fresh_log({"internal.segment.bytes": 200})
    original = Log.__dict__["append_as_leader"]
    with calls_told((Log.append_as_leader, Log.roll, LogSegment.should_roll), told.append):
        thread = threading.Thread(target=filled, args=[fresh_log({"internal.segment.bytes": 200})])
        thread.start()
        thread.join()
        filled(log)
        log.roll()
    assert told == ["Log.append_as_leader"] * 4 + ["Log.roll"]
    assert Log.__dict__["append_as_leader"] is original
