"""Pieces of the lesson *Records*: batches at hand, flipped bits and who notices them, headers by three witnesses."""

import pytest

from minikafka.lab.stage.batch_bytes import batch_of, batches_in, flipped
from minikafka.lab.stage.damage import kill, loaded_by_both
from minikafka.lab.stage.workbench import fresh_log, kafka_witness, scratch
from minikafka.lab.widgets.microscope import fields_of
from minikafka.lessons.records.header_witnesses import three_headers
from minikafka.lessons.records.noticed_flips import who_notices
from minikafka.witness import Workload, agree

HEADER = [field.name for field in fields_of(bytes(batch_of("one").buffer))][:13]


def test_a_batch_of_given_records():
    [batch] = batch_of("one", None, keys=("a", "b"), codec="gzip", shop="7").batches()
    first, second = batch
    assert (first.key, first.value, second.value) == (b"a", b"one", None)
    assert first.headers == (("shop", b"7"),)
    assert batch.is_compressed


def test_one_bit_is_flipped_in_a_copy():
    sent = batch_of("one")
    bent = flipped(sent, 70, 3)
    changed = [at for at, (a, b) in enumerate(zip(sent.buffer, bent.buffer, strict=True)) if a != b]
    assert changed == [70]
    assert sent.buffer[70] ^ bent.buffer[70] == 8


def test_only_the_leader_epoch_passes_the_leader():
    rows = {row[0]: row[1:] for row in who_notices(lambda: batch_of("one", "two")).rows}
    assert [name for name in HEADER if rows[name][0] == "nobody"] == ["partitionLeaderEpoch"]
    assert {name for name in HEADER if rows[name][1] == "6"} == {"baseOffset", "partitionLeaderEpoch", "magic"}
    assert rows["record 0"] == ["CorruptRecordException", "2", "0:one 1:two InvalidRecordException"]


@pytest.mark.slow
def test_kafka_notices_on_the_disk_what_minikafka_notices(spark):
    """Each flip of the table, loaded by both: every byte of what is left."""
    log = fresh_log()
    for _ in range(3):
        log.append_as_leader(batch_of("one", "two"), leader_epoch=0)
    first = batches_in(log)[0]
    fields = fields_of(bytes(first.buffer))
    directory = kill(log)

    def flips(at):
        def damage(copy):
            file = copy / f"{0:020}.log"
            data = bytearray(file.read_bytes())
            data[first.size_in_bytes + at] ^= 1
            file.write_bytes(data)

        return damage

    for field in fields[:14]:
        assert loaded_by_both(directory, damage=flips(field.start + field.size - 1)).equal, field.name


@pytest.mark.slow
def test_kafka_refuses_what_minikafka_refuses(spark):
    from minikafka.common.scheduler import ManualScheduler
    from minikafka.common.time import ManualTime

    kafka, time = kafka_witness(), ManualTime(1_700_000_000_000)
    directory = scratch()
    directory.mkdir(parents=True)
    log = kafka(
        directory, {}, log_start_offset=0, recovery_point=0, scheduler=ManualScheduler(time), time=time,
        last_shutdown_clean=True,
    )  # fmt: skip
    rows = {row[0]: row[1] for row in who_notices(lambda: batch_of("one", "two")).rows}
    for field in fields_of(bytes(batch_of("one", "two").buffer))[:13]:
        try:
            log.append_as_leader(flipped(batch_of("one", "two"), field.start + field.size - 1), 0)
            said = "nobody"
        except Exception as error:
            said = type(error).__name__
        assert said == rows[field.name], field.name
    log.close()


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["", "config message.timestamp.type=LogAppendTime\n"])
def test_three_witnesses_of_headers_agree(spark, settings):
    workload = Workload.parse(
        settings + "append_as_leader [3x10,null,8192 keys=2 ts=now,now-70,now+9000]\ntick 5\n"
        "append_as_leader leader_epoch=3 [70x1]\nappend_as_leader leader_epoch=3 [1x63]\n"
    )
    witnesses = three_headers(workload)
    assert agree(*witnesses).check().cells == 3 * 8 * 2
    assert [table.witness for table in witnesses] == ["minikafka", "Spark", "Apache Kafka"]
