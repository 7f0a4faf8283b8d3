"""When each acks=all request is answered, from a trace, in Spark."""

import random
from typing import Any

from minikafka.common.error_codes import Errors
from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.asked_brokers import brokers_of, fetch_line, parts
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.produce_purgatory import solutions

_REQUESTS = "request INT, t INT, deadline INT, partition STRING, required BIGINT"
_FETCHES = "t INT, partition STRING, end BIGINT"
_STEP_MS = 100
_TOPIC = "topic t 0,1/0,1/0,1/0,1 min.insync.replicas=2"


class _Story:
    """`steps`: `t:what` by commas, t in steps of 100 ms; `t:+3 0:2 1:1` a request with patience 3 and two records for
    partition t-0, one for t-1; `t:f 0:2` the only follower fetches, and has everything below offset 2 of t-0.
    """

    def __init__(self, steps: str):
        self.requests: list[tuple[int, int, int, str, int]] = []
        self.fetches: list[tuple[int, str, int]] = []
        self.lines: list[str] = []
        self.words: list[str] = []
        self.tickets: dict[int, int] = {}
        ends: dict[str, int] = {}
        now = handled = 0
        for step in steps.split(", "):
            when, what, *parts_of = step.replace(":", " ", 1).split()
            while now < int(when):
                self.lines.append(f"sleep {_STEP_MS}")
                now += 1
            handled += 1
            places = [(f"t-{place.partition(':')[0]}", int(place.partition(":")[2])) for place in parts_of]
            if what == "f":
                self.words.append(f"{now}: fetch of {_up_to(places)}")
                self.lines.append(fetch_line(1, *places))
                self.fetches += [(now, partition, end) for partition, end in places]
                continue
            patience, number = int(what), len(self.tickets) + 1
            self.tickets[handled] = number
            for partition, count in places:
                ends[partition] = ends.get(partition, 0) + count
                self.requests.append((number, now, now + patience, partition, ends[partition]))
            required = _up_to([(partition, ends[partition]) for partition, _ in places])
            self.words.append(f"{now}: request {number} until {now + patience} for {required}")
            targets = " ".join(f"{partition} [{count}x10]" for partition, count in places)
            self.lines.append(f"produce 0 version=11 timeout={patience * _STEP_MS} {targets}")
        last = max([now, *(deadline for _, _, deadline, _, _ in self.requests)])
        self.lines += [f"sleep {_STEP_MS}"] * (last - now)


def _up_to(ends: list[tuple[str, int]]) -> str:
    return " and ".join(f"{partition} up to {end}" for partition, end in ends)


def _case(name: str, steps: str, draw: random.Random | None = None) -> AskedCase:
    """`draw` brings the rows of a drawn case into any order."""
    story = _Story(steps)
    requests, fetches = frame(story.requests, _REQUESTS, draw), frame(story.fetches, _FETCHES, draw)

    def expected() -> list[tuple[int, int, int]]:
        return as_rows(
            requests.sparkSession.sql(
                """WITH reached AS (
                       SELECT r.request, r.partition, r.deadline,
                              (SELECT min(f.t) FROM {fetches} f
                               WHERE f.partition = r.partition AND f.end >= r.required AND f.t >= r.t) AS at
                       FROM {requests} r)
                   SELECT request, max(IF(at < deadline, at, deadline)) AS at,
                          sum(IF(at < deadline, 0, 1)) AS timed_out
                   FROM reached GROUP BY request ORDER BY request""",
                requests=requests,
                fetches=fetches,
            )
        )

    def asked(factory: Any) -> list[tuple[int, int, int]]:
        found, now = [], 0
        with brokers_of(factory, 2, _TOPIC) as brokers:
            first = len(brokers.observations)
            brokers.do(*story.lines)
            for line, observed in zip(story.lines, brokers.observations[first:], strict=True):
                now += line.startswith("sleep")
                for ticket, answer in observed.answers.items():
                    if ticket in story.tickets:
                        late = sum(Errors(code) is Errors.REQUEST_TIMED_OUT for _, _, code in parts(answer))
                        found.append((story.tickets[ticket], now, late))
        return sorted(found)

    return AskedCase(name and f"{name} (at {'; '.join(story.words)})", (requests, fetches), expected, asked)


def _when(
    *,
    reached=lambda end, required: end >= required,
    in_time=lambda at, deadline: at < deadline,
    together=max,
    late=lambda times, deadline: sum(at is None for at in times),
    wait=True,
):
    """A wrong answer, where not told otherwise the right one."""

    def answers(requests, fetches):
        told = fetches.orderBy("t").collect()
        by_request: dict[int, list[Any]] = {}
        for row in requests.orderBy("request", "partition").collect():
            by_request.setdefault(row.request, []).append(row)
        found = []
        for request, rows in by_request.items():
            deadline, times = rows[0].deadline, []
            for row in rows:
                at = next(
                    (
                        f.t
                        for f in told
                        if f.partition == row.partition and f.t >= row.t and reached(f.end, row.required)
                    ),
                    None,
                )
                times.append(at if at is not None and (not wait or in_time(at, deadline)) else None)
            ends = [deadline if at is None else at for at in times]
            found.append((request, together(ends), late(times, deadline)))
        return found

    return answers


def _drawn(draw: random.Random) -> AskedCase:
    """Requests and fetches for some of four partitions each; the follower never has more than the leader."""
    now, ends, steps = 0, [0, 0, 0, 0], []
    for _ in range(28):
        now += draw.choice((0, 0, 1, 1, 2))
        some, is_request = draw.sample(range(4), draw.randint(1, 3)), draw.random() < 0.4
        places = []
        for partition in some:
            number = draw.randint(1, 3) if is_request else draw.randint(max(0, ends[partition] - 3), ends[partition])
            ends[partition] += number if is_request else 0
            places.append(f"{partition}:{number}")
        steps.append(f"{now}:{f'+{draw.choice((1, 2, 4, 9, 15))}' if is_request else 'f'} {' '.join(places)}")
    return _case("", ", ".join(steps), draw)


answered_when = Exercise(
    "Exercise 3, when is each request answered?",
    lambda: [
        _case("one partition", "0:+5 0:2, 1:f 0:0, 2:f 0:2"),
        _case("two requests, one fetch", "0:+9 0:2, 1:+9 0:1, 2:f 0:0, 3:f 0:3"),
        _case("two, opened one by one", "0:+9 0:2, 1:+9 0:1, 2:f 0:2, 4:f 0:3"),
        _case("two partitions", "0:+9 0:1 1:1, 2:f 0:1, 5:f 1:1"),
        _case("too late for one partition", "0:+4 0:1 1:1, 2:f 0:1, 6:f 1:1"),
        _case("at the very moment", "0:+3 0:1, 1:+3 0:1, 3:f 0:2"),
        _case("nobody fetches", "0:+2 0:1 1:2, 1:f 0:0 1:0"),
        _case("a fetch before the request", "0:+9 0:1, 1:f 0:1, 2:+3 0:1, 4:f 0:2"),
        _case("a fetch of the same moment", "0:+5 0:2, 0:f 0:0, 0:f 0:2"),
        _case("a follower that fetches once more from further back", "0:+9 0:1, 0:+9 0:1, 1:f 0:2, 2:f 0:1"),
    ],
    judged_by_spark,
    solutions.answers,
    drawn=_drawn,
    draws=6,
    hints=[
        "For each row of `requests` find the first fetch of its partition with end >= required: a LEFT JOIN and "
        "min(t).",
        "The request is answered when the last of its partitions is replicated: GROUP BY request, max.",
        "At the deadline the timer answers before a fetch of the same moment. A partition that is not replicated "
        "before the deadline has timed out.",
    ],
    beliefs=[
        Belief(
            _when(reached=lambda end, required: end >= required - 1),
            "You answer one record too early. `end` and `required` are both exclusive: end >= required.",
        ),
        Belief(
            _when(in_time=lambda at, deadline: at <= deadline),
            "You count a fetch at the deadline. At that moment the timer has already answered.",
        ),
        Belief(
            _when(together=min),
            "You answer when the first partition is replicated. There is one response for all partitions: it waits "
            "for the last.",
        ),
        Belief(
            _when(wait=False),
            "You wait beyond the deadline. At the deadline the timer answers, with REQUEST_TIMED_OUT for partitions "
            "that are not replicated.",
        ),
        Belief(
            _when(late=lambda times, deadline: len(times) if None in times else 0),
            "You let all partitions time out together. Each partition has its own error; replicated ones have NONE.",
        ),
    ],
    normal=as_rows,
)
