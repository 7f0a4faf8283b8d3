"""Judges of the lessons' exercises: logs of minikafka, and of Apache Kafka."""

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.lab.exercises.asked import AskedCase
from minikafka.lab.exercises.wrecked import WreckedCase
from minikafka.lab.stage.workbench import NOON
from minikafka.witness.log.run import run


def judge_with(exercise, factory, tmp_path):
    """A judge whose logs are made by `factory`: it runs each case's workload, loads what the case has wrecked, or asks
    what the case asks.
    """
    if all(isinstance(case, WreckedCase) for case in exercise.cases):
        return lambda case: _loaded(case, factory)
    if all(isinstance(case, AskedCase) for case in exercise.cases):
        return lambda case: case.asked(factory)
    count = iter(range(1000))
    return lambda case: case.answer(run(case.workload, factory, tmp_path / f"{next(count)}" / "lesson-0"))


def _loaded(case, factory):
    """The answer of the log that `factory` loads from the case's directory."""
    time = ManualTime(NOON)
    directory = case.wreck()
    log = factory(
        directory,
        {name: str(value) for name, value in case.settings.items()},
        log_start_offset=case.checkpoints.get("log_start", 0),
        recovery_point=case.checkpoints.get("recovery_point", 0),
        scheduler=ManualScheduler(time),
        time=time,
        last_shutdown_clean=case.checkpoints.get("clean", False),
    )
    state = log.fetch_state_snapshot()
    left = {file.name for file in directory.iterdir()}
    log.close()
    return case.answer(state) if case.answer is not None else case.answer_by_files(state, left)
