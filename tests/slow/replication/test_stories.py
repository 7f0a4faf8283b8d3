"""Stories of replicas, step by step, beside Kafka's own KafkaApis, ReplicaManager, Partition and followers."""

import pytest

from minikafka.witness.replicas.differ import compare
from minikafka.witness.replicas.workload import ReplicaWorkload
from tests.slow.replication.stories import STORIES
from tests.slow.replication.story_checks import check_claims

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("story", STORIES)
def test_story(kafka, silent, story):
    comparison = compare(kafka, ReplicaWorkload.parse(STORIES[story]))
    assert comparison.same, comparison
    check_claims(STORIES[story], comparison.seen)


def test_a_claim_can_fail(kafka, silent):
    text = STORIES["a record counts when the follower asks for the next one"]
    seen = compare(kafka, ReplicaWorkload.parse(text)).seen
    with pytest.raises(AssertionError, match="hw is 0"):
        check_claims(text.replace("leo=3 hw=0", "leo=3 hw=3", 1), seen)
    with pytest.raises(AssertionError, match="not answered"):
        check_claims(text.replace("#: waiting 0 1", "#: answered 1 0"), seen)
