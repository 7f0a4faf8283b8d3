"""Stories of a few replicas, each with what must be seen on the way.

A line `#: 1 t-0 leo=3 hw=0` says what broker 1 knows of t-0 after the operation above it; `#: waiting 0 1` how many
requests wait in broker 0; `#: answered 1 0` that request 1 was answered by then, and with which error;
`#: read 3 78` that request 3 was answered by then, with so many bytes of records.
"""

_ONE = """
start 0
topic t 0/0
publish 0
"""

_TWO = """
broker replica.lag.time.max.ms=30000
start 0
start 1
topic t 0,1 min.insync.replicas=1
publish 0
publish 1
"""

_THREE = """
broker replica.lag.time.max.ms=30000
start 0
start 1
start 2
topic t 0,1,2 min.insync.replicas=2
publish 0
publish 1
publish 2
"""

_WRITTEN_BY_0_NOT_KNOWN_TO_BE_SO_BY_1 = f"""{_TWO}
produce 0 acks=-1 t-0 [1x10]
follow 1
follow 1
follow 1
#: 0 t-0 leo=1 hw=1
#: 1 t-0 leo=1 hw=1
produce 0 acks=-1 t-0 [1x20]
follow 1
#: waiting 0 1
fetch 0 replica=1 replica_epoch=21 t-0@2:epoch=0:last=0:start=0    # its answer never arrives
#: answered 2 0
#: 0 t-0 leo=2 hw=2
#: 1 t-0 leo=2 hw=1
checkpoint 1
crash 1
start 1
"""

STORIES = {
    "a record counts when the follower asks for the next one": f"""{_TWO}
produce 0 acks=-1 t-0 [3x10]
#: waiting 0 1
follow 1
#: 0 t-0 leo=3 hw=0
#: 1 t-0 leo=3 hw=0
follow 1
#: answered 1 0
#: 0 t-0 hw=3
#: 1 t-0 hw=0
follow 1
#: 1 t-0 hw=3
""",
    "a silent follower leaves the in-sync replicas, and comes back": f"""{_THREE}
follow 1
follow 2
produce 0 acks=-1 t-0 [2x10]
follow 1
follow 1
#: 0 t-0 hw=0 isr=0,1,2
sleep 30000
#: answered 1 7
#: 0 t-0 isr=0,1,2 state=CommittedPartitionState
follow 1
sleep 14999
follow 1
sleep 1
#: 0 t-0 isr=0,1,2 maximal_isr=0,1,2 state=PendingShrinkIsr hw=0
answer 0
#: 0 t-0 isr=0,1 hw=2
publish 0
publish 1
publish 2
follow 2
#: 0 t-0 isr=0,1 maximal_isr=0,1
follow 2
#: 0 t-0 isr=0,1 maximal_isr=0,1,2 state=PendingExpandIsr
answer 0
#: 0 t-0 isr=0,1,2
change t-0 isr=0
publish 0
publish 1
publish 2
produce 0 acks=1 t-0 [1x10]
#: answered 2 0
#: 0 t-0 leo=3 hw=2
produce 0 acks=-1 t-0 [1x10]
#: answered 3 19
""",
    "what was acknowledged is lost by cutting to the high watermark": f"""{_WRITTEN_BY_0_NOT_KNOWN_TO_BE_SO_BY_1}
#: 1 t-0 leo=2 hw=1
truncate 1 t-0@hw
#: 1 t-0 leo=1
crash 0
change t-0 leader=1 isr=1
publish 1
start 0
publish 1
follow 0
follow 0
#: 0 t-0 leo=1
#: 1 t-0 leo=1
""",
    "what was acknowledged is kept by cutting at the end of the epoch": f"""{_WRITTEN_BY_0_NOT_KNOWN_TO_BE_SO_BY_1}
#: 1 t-0 leo=2 hw=1
crash 0
change t-0 leader=1 isr=1
publish 1
start 0
publish 1
follow 0
follow 0
#: 0 t-0 leo=2
#: 1 t-0 leo=2
""",
    "two records at one offset: the one that its leader's end does not cover goes": f"""{_TWO}
produce 0 acks=-1 t-0 [1x10]
follow 1
follow 1
crash 1
produce 0 acks=1 t-0 [1x20]
crash 0
start 1
change t-0 leader=1 isr=1
publish 1
produce 1 acks=-1 t-0 [1x30]
start 0
publish 1
#: 0 t-0 leo=2 epochs=0:0
#: 1 t-0 leo=2 epochs=0:0,1:1
follow 0
#: 0 t-0 leo=1
follow 0
#: 0 t-0 leo=2 epochs=0:0,1:1
""",
    "an epoch that the leader has never heard of": f"""{_TWO}
produce 0 acks=-1 t-0 [10x10]
follow 1
follow 1
change t-0 leader=1 isr=0,1
publish 1
crash 0
produce 1 acks=1 t-0 [1x20]
produce 1 acks=1 t-0 [1x20]
crash 1
start 0
change t-0 leader=0 isr=0
publish 0
produce 0 acks=1 t-0 [1x30]
crash 0
start 1
change t-0 leader=1 isr=1
publish 1
produce 1 acks=1 t-0 [1x40]
start 0
publish 1
#: 0 t-0 leo=11 epochs=0:0,2:10
#: 1 t-0 leo=13 epochs=0:0,1:10,3:12
offset_for_leader_epoch 1 t-0:last=2
follow 0
#: 0 t-0 leo=10
follow 0
#: 0 t-0 leo=13 epochs=0:0,1:10,3:12
""",
    "a fetch waits for one byte more than there is": f"""{_ONE}
produce 0 acks=1 t-0 [1x10]
fetch 0 wait=1000 min=77 t-0
fetch 0 wait=1000 min=78 t-0
#: waiting 0 0
#: read 3 78
fetch 0 wait=1000 min=79 t-0
#: waiting 0 1
produce 0 acks=1 t-1 [1x10]
fetch 0 wait=1000 min=156 t-0 t-1
#: read 6 156
#: waiting 0 1
fetch 0 wait=1000 min=157 t-0 t-1
#: waiting 0 2
""",
    "a fetch that waits is answered by its last byte": f"""{_ONE}
fetch 0 wait=1000 min=77 t-0
fetch 0 wait=1000 min=78 t-0
fetch 0 wait=1000 min=79 t-0
fetch 0 wait=1000 min=156 t-0 t-1
fetch 0 wait=1000 min=157 t-0 t-1
#: waiting 0 5
produce 0 acks=1 t-0 [1x10]
#: waiting 0 3
#: read 1 78
#: read 2 78
produce 0 acks=1 t-1 [1x10]
#: waiting 0 2
#: read 4 156
""",
    "a partition counts up to its most bytes": f"""{_ONE}
fetch 0 wait=1000 min=78 t-0:max=77
fetch 0 wait=1000 min=78 t-0:max=78
fetch 0 wait=1000 min=78 t-0:max=79
#: waiting 0 3
produce 0 acks=1 t-0 [1x10]
#: waiting 0 1
""",
    "a fetch waits as long as it says": f"""{_ONE}
fetch 0 wait=999 t-0
fetch 0 wait=1000 t-0
fetch 0 wait=1001 t-0
sleep 999
#: waiting 0 2
sleep 1
#: waiting 0 1
sleep 1
#: waiting 0 0
""",
    "the most bytes of a fetch end inside, at, and behind a batch": f"""{_ONE}
produce 0 acks=1 t-0 [1x10]
produce 0 acks=1 t-0 [1x10]
produce 0 acks=1 t-1 [1x10]
fetch 0 max=77 t-0
#: read 4 78
fetch 0 max=155 t-0
#: read 5 155
fetch 0 max=156 t-0
#: read 6 156
fetch 0 max=157 t-0
#: read 7 156
fetch 0 t-0:max=77
#: read 8 78
fetch 0 max=233 t-0 t-1
#: read 9 156
fetch 0 max=234 t-0 t-1
#: read 10 234
fetch 0 t-0 t-1:max=77
#: read 11 156
fetch 0 t-0 t-1:max=78
#: read 12 234
fetch 0 t-0@2 t-1:max=77
#: read 13 78
""",
    "acks=all waits until the high watermark is exactly behind its records": f"""{_TWO}
produce 0 acks=-1 t-0 [1x10]
produce 0 acks=-1 t-0 [2x10]
produce 0 acks=-1 t-0 [1x10]
#: waiting 0 3
fetch 0 replica=1 replica_epoch=21 t-0@3:epoch=0:last=0:start=0
#: 0 t-0 hw=3
#: answered 1 0
#: answered 2 0
#: waiting 0 1
produce 0 acks=-1 timeout=1000 t-0 [1x10]
sleep 999
#: waiting 0 2
sleep 1
#: answered 5 7
#: waiting 0 1
""",
    "of followers at the high watermark the first in the map says where it lies": """
broker replica.lag.time.max.ms=30000
start 0
start 1
start 2
topic t 1,2,0 index.interval.bytes=100 segment.index.bytes=16
publish 0
publish 1
publish 2
produce 1 acks=1 t-0 [1x10]
follow 0
fetch 1 isolation=0 wait=100 min=1000 t-0
follow 2
follow 2
produce 1 acks=1 t-0 [1x10]
#: waiting 1 1
follow 0
#: waiting 1 0
#: read 2 78
""",
    "records are deleted when all followers have shown that they know": f"""{_TWO}
produce 0 acks=1 t-0 [2x10]
produce 0 acks=1 t-0 [2x10]
follow 1
follow 1
delete_records 0 t-0@2
#: waiting 0 1
#: 0 t-0 start=2
follow 1
#: waiting 0 1
#: 1 t-0 start=2
follow 1
#: waiting 0 0
delete_records 0 t-0@99
#: waiting 0 0
""",
}
"""By what they tell, the workloads as text."""
