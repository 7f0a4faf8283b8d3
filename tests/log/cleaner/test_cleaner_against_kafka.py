"""What compaction makes of a log, byte for byte as Apache Kafka's own `Cleaner` makes it."""

COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.01}


def compacted(two_logs, **config):
    settings = {key.replace(".", "__"): value for key, value in COMPACT.items()}
    return two_logs(**{**settings, **config})


def test_of_each_key_the_latest_record_stays(two_logs, two_cleaners):
    logs = compacted(two_logs)
    for number in range(12):
        logs.do(f"append_as_leader [3x60 keys=4 data={number}]")
    logs.do("update_high_watermark leo")
    cleaners = two_cleaners(logs)
    turn = cleaners.turn()
    assert turn.grabbed == "topic-0" and not turn.error
    assert turn.stats[2] < turn.stats[0]
    logs.do("append_as_leader [3x60 keys=4]", "roll", "update_high_watermark leo")
    assert cleaners.turn().end_offset > turn.end_offset
    assert not cleaners.turn().grabbed
