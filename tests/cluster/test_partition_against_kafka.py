"""What happens to partitions, told as stories that are done to minikafka's brokers and Kafka's side by side.

Drawn workloads of brokers come to most of what a partition decides; these come to what is rare there.
"""

import pytest

from minikafka.witness.replicas.differ import compare
from minikafka.witness.replicas.workload import ReplicaWorkload

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.usefixtures("silent")]

STORIES = {
    "a new leader whose high watermark lags": """
topic t 0,1
publish *
produce 0 acks=1 t-0 [3x10 ts=now]
change t-0 leader=0
publish 0
list_offsets 0 t-0@-1
list_offsets 0 isolation=1 t-0@-1
list_offsets 0 replica=1 t-0@-1
list_offsets 0 replica=-2 t-0@-1
list_offsets 0 version=3 t-0@-1
list_offsets 0 version=4 t-0@-1
list_offsets 0 t-0@-2
list_offsets 0 t-0@-3
list_offsets 0 t-0@-4
list_offsets 0 t-0@-5
list_offsets 0 version=11 t-0@-6
list_offsets 0 t-0@now
list_offsets 0 version=4 t-0@now
list_offsets 0 t-0@now+1
list_offsets 0 t-0@-1:epoch=0
list_offsets 0 t-0@-1:epoch=1
list_offsets 0 t-0@-1:epoch=2
list_offsets 1 t-0@-1
list_offsets 1 replica=-2 t-0@-1
publish 1
follow 1
follow 1
list_offsets 0 t-0@-1
list_offsets 0 t-0@now
list_offsets 0 t-0@now+1
produce 0 acks=1 t-0 [3x10 ts=now+5]
list_offsets 0 t-0@now+5
list_offsets 0 isolation=1 t-0@now+5
list_offsets 0 replica=1 t-0@now+5
list_offsets 0 replica=-2 t-0@now+5
""",
    "a follower that begins inside a batch": """
topic t 0,1,2
publish *
produce 0 acks=1 t-0 [5x10]
produce 0 acks=1 t-0 [5x10]
follow 1
follow 1
change t-0 isr=0,1
publish 0
publish 1
sleep 40000
produce 0 acks=1 t-0 [1x10]
follow 1
follow 1
delete_records 0 t-0@3
follow 1
follow 1
follow 2
follow 2
follow 2
answer 0
publish 0
follow 2
produce 0 t-0 [1x10]
follow 1
follow 2
follow 1
follow 2
follow 1
follow 2
""",
    "too few replicas in sync": """
topic t 0,1,2 min.insync.replicas=2
publish *
produce 0 t-0 [1x10]
follow 1
follow 2
follow 1
follow 2
produce 0 timeout=1000 t-0 [1x10]
change t-0 isr=0
publish 0
produce 0 t-0 [1x10]
produce 0 acks=1 t-0 [1x10]
produce 0 acks=0 t-0 [1x10]
sleep 1001
follow 1
answer 0
publish 0
follow 1
follow 1
settings t min.insync.replicas=3
publish 0
produce 0 t-0 [1x10]
settings t min.insync.replicas=9
publish 0
follow 2
follow 2
answer 0
produce 0 t-0 [1x10]
publish 0
follow 1
follow 2
follow 1
follow 2
""",
    "fenced, stopping and restarted followers": """
topic t 0,1,2
publish *
change t-0 isr=0,1
publish 0
fence 2
publish 0
follow 2
produce 0 acks=1 t-0 [2x10]
follow 2
follow 1
follow 1
unfence 2
publish 0
follow 2
follow 2
crash 2
start 2
publish 2
follow 2
publish 0
fetch 0 replica=2 replica_epoch=1 t-0@0:start=0
fetch 0 replica=2 t-0@0:start=0
fetch 0 replica=2 t-0@leo:start=0
fetch 0 replica=7 t-0@leo:start=0
fetch 0 replica=7 t-0@leo:start=0:epoch=0
follow 2
answer 0 error=INELIGIBLE_REPLICA
follow 2
answer 0 error=INVALID_REQUEST
follow 2
change t-0 isr=0,1
publish 0
follow 2
answer 0 error=NOT_CONTROLLER
answer 0
publish 0
stop 1
publish 0
publish 2
sleep 31000
answer 0
publish 0
""",
    "records are deleted": """
topic t 0,1,2 cleanup.policy=delete
topic c 0,1,2 cleanup.policy=compact
topic b 0,1,2 cleanup.policy=compact,delete
publish *
produce 0 acks=1 t-0 [4x10]
produce 0 acks=1 t-0 [4x10]
produce 0 acks=1 c-0 [4x10 keys=2]
produce 0 acks=1 b-0 [4x10 keys=2]
follow 1
follow 2
follow 1
follow 2
delete_records 0 c-0@1
delete_records 0 b-0@1
delete_records 0 t-0@-1
delete_records 0 t-0@-2
delete_records 0 t-0@9
delete_records 1 t-0@1
delete_records 0 t-0@2
follow 1
follow 1
fence 2
publish 0
delete_records 0 t-0@3
follow 1
follow 1
fetch 0 replica=1 t-0@leo:start=0:last=0
fetch 0 replica=1 t-0@2:start=0:last=0
fetch 0 t-0@2
fetch 0 t-0@3
fetch 0 t-0@5
sleep 30001
""",
    "who may read, and how far": """
topic t 0,1,2
publish *
produce 0 acks=1 t-0 [4x10]
fetch 0 t-0@0
fetch 0 isolation=1 t-0@0
fetch 0 t-0@5
fetch 0 t-0@4
fetch 0 t-0@1
follow 1
follow 2
follow 1
follow 2
fetch 0 t-0@1
fetch 1 t-0@0
fetch 1 version=10 t-0@0
fetch 1 version=11 t-0@0
follow 1
fetch 1 t-0@0
fetch 1 t-0@0:epoch=0
fetch 1 t-0@0:epoch=1
change t-0 leader=1
publish 1
fetch 0 t-0@0:epoch=1
fetch 1 t-0@0:epoch=0
publish 0
fetch 0 t-0@0:epoch=0
fetch 0 t-0@0:epoch=1
fetch 0 replica=2 t-0@0:epoch=1:start=0
fetch 0 version=10 t-0@0:epoch=1
fetch 1 replica=-2 t-0@0
fetch 1 replica=-3 t-0@0
fetch 1 replica=0 t-0@4:epoch=1:start=0:last=0
fetch 1 replica=0 t-0@5:epoch=1:start=0:last=0
fetch 1 replica=0 t-0@4:epoch=1:start=0:last=1
fetch 1 replica=0 t-0@4:epoch=1:start=0:last=2
offset_for_leader_epoch 1 replica=0 t-0:epoch=1:last=0
offset_for_leader_epoch 1 replica=0 t-0:epoch=0:last=0
offset_for_leader_epoch 1 replica=0 t-0:epoch=2:last=0
offset_for_leader_epoch 1 replica=0 t-0:last=1
offset_for_leader_epoch 1 replica=0 t-0:last=5
offset_for_leader_epoch 1 replica=0 t-0:last=-1
offset_for_leader_epoch 0 replica=0 t-0:last=0
""",
}


@pytest.mark.parametrize("story", STORIES)
def test_partitions_live_as_kafkas(kafka, story):
    lines = ["start 0", "start 1", "start 2"]
    for line in STORIES[story].strip().splitlines():
        lines += [f"publish {broker}" for broker in range(3)] if line == "publish *" else [line]
    comparison = compare(kafka, ReplicaWorkload.parse("\n".join(lines)))
    assert comparison.same, comparison
