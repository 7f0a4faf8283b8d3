"""Nothing of Kafka's storage module is forgotten: all of it is mirrored, or left out for a reason."""

import pytest

from minikafka.twins.coverage import pattern_fits, reasons, storage_coverage
from minikafka.twins.kafka_sources import kafka_table
from minikafka.twins.our_members import our_members

ROWS = storage_coverage(kafka_table(), our_members())


def test_each_class_and_method_is_mirrored_or_left_out_for_a_reason():
    assert [row.full_name for row in ROWS if not row.mirrored_by and not row.why] == []


def test_no_reason_is_idle():
    """A name that fits nothing, or only what is mirrored by now, has to go."""
    left_out = [row for row in ROWS if not row.mirrored_by]
    assert [pattern for pattern, _ in reasons() if not any(pattern_fits(pattern, row) for row in left_out)] == []


def test_the_log_is_mirrored():
    by_name = {row.name: row for row in ROWS}
    assert "minikafka.log.log.Log" in by_name["UnifiedLog"].mirrored_by
    assert by_name["UnifiedLog.appendAsLeader"].mirrored_by == ("minikafka.log.log.Log.append_as_leader",)
    assert by_name["LogSegment.append"].line > by_name["LogSegment"].line > 1
    assert not by_name["RemoteIndexCache"].mirrored_by and "Remote" in by_name["RemoteIndexCache"].why


@pytest.mark.parametrize("kind", ["classes", "methods"])
def test_most_of_what_lies_in_the_log_directory_is_mirrored(kind):
    rows = [
        row
        for row in ROWS
        if "remote" not in row.full_name.lower() and (row.member is None) == (kind == "classes") and row.owner.public
    ]
    assert sum(bool(row.mirrored_by) for row in rows) > 0.6 * len(rows)
