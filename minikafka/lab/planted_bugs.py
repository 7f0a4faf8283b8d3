"""Bugs that a lesson plants into minikafka for a moment, so that the witnesses can find them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock


def _rolls_when_exactly_full(segment: Any, params: Any) -> bool:
    """`>=` where Kafka has `>`: a batch that would just fill the segment begins a new one."""
    return segment.size > 0 and segment.size >= params.max_segment_bytes - params.messages_size


def _may_fall(log: Any, new_high_watermark: Any) -> Any:
    """Without the question whether the new one is higher."""
    old = log._fetch_high_watermark_metadata()
    log._update_high_watermark_metadata(new_high_watermark)
    return old


def _bugs() -> dict[str, tuple[type, str, Callable[..., Any]]]:
    from minikafka.log.log import Log
    from minikafka.log.log_segment import LogSegment

    return {
        "a segment rolls when it would be exactly full": (LogSegment, "should_roll", _rolls_when_exactly_full),
        "the leader's high watermark may fall": (Log, "maybe_increment_high_watermark", _may_fall),
    }


@contextmanager
def planted(bug: str) -> Iterator[None]:
    """Run minikafka with `bug` inside the `with` block; outside it is sound again. Raises KeyError for an unknown bug."""
    owner, name, wrong = _bugs()[bug]
    with mock.patch.object(owner, name, wrong):
        yield
