"""The picture in the README, `diagrams/lesson.svg`: the offset ruler of the lessons, drawn from a run."""

from minikafka.lab.stage.producers import Producer
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.offset_ruler import OffsetRuler, render_ruler
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason


def readme_picture() -> str:
    """The SVG: a log of three segments with an open transaction. It needs no other file, and follows the reader's light
    or dark theme.
    """
    log = fresh_log({"internal.segment.bytes": "400"})
    ruler = OffsetRuler(log)
    log.append_as_leader(records(5, 20), leader_epoch=0)
    log.append_as_leader(records(4, 20), leader_epoch=0)
    Producer(log, 7, transactional=True).send(3)
    log.append_as_leader(records(4, 20), leader_epoch=0)
    log.update_high_watermark(12)
    log.maybe_increment_log_start_offset(2, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION)
    ruler.snap("what is in the log")
    log.append_as_leader(records(4, 20), leader_epoch=0)
    ruler.snap("append_as_leader: 4 records, no follower has them yet; a transaction is open since offset 9")
    return drawing.standing_alone(render_ruler(ruler.frames[-1]))
