"""The pieces of the lessons *Replication* and *Leader epochs*: brokers moved by hand, lanes of replicas, buttons."""

import random
import xml.dom.minidom

import pytest
from ipywidgets import Widget

from minikafka.lab.stage import recorded_answers, replica_witnesses
from minikafka.lab.stage.planted_bugs import planted
from minikafka.lab.stage.replica_moments import HeldRecord, ReplicaLane, ReplicaMoment
from minikafka.lab.stage.replica_witnesses import by_minikafka, three_witnesses
from minikafka.lab.stage.replication import Replication, fast_failovers, left_and_back, two_failures, unclean_election
from minikafka.lab.widgets.replica_lanes import ReplicaLanes, marked, render_replica_lanes, span_of
from minikafka.lessons.leader_epochs.replica_deal import ReplicaDeal
from minikafka.witness.agreement import agree
from minikafka.witness.observation import BLANK
from minikafka.witness.replicas.workload import ReplicaWorkload
from tests.lab.pictures import unreadable

NO_EPOCHS = "a follower knows no leader epochs"


def lanes_of(*arguments, **named):
    return ReplicaLanes(Replication(*arguments, **named))


def held(replication, broker):
    return [(record.value, record.epoch) for record in replication.lane(broker).records]


def test_who_lacks_acknowledged_records_is_not_elected():
    lanes = lanes_of(2, narrow=True)
    assert left_and_back(lanes).answer == "NONE"
    replication = lanes.replication
    assert (replication.values(1), replication.leader) == (["a"], None)
    replication.start(0)
    assert replication.consumed() == ["a", "b", "c"] and replication.isr == [0]
    for _ in range(3):
        replication.fetch(1)
    assert replication.isr == [0, 1]


def test_in_sync_at_the_first_fetch_it_is_elected_without_them():
    with planted("a follower is in sync as soon as it fetches"):
        lanes = lanes_of(2, narrow=True)
        assert left_and_back(lanes).answer == "NONE"
        assert (lanes.replication.leader, lanes.replication.consumed()) == (1, ["a"])


def test_an_acknowledged_record_outlives_two_failures():
    lanes = lanes_of()
    sent = two_failures(lanes)
    assert (sent.answer, lanes.replication.leader, lanes.replication.leader_epoch) == ("NONE", 2, 2)
    assert lanes.replication.consumed() == ["a", "b"]
    assert not any(record.sign == "−" for frame in lanes.frames for lane in frame.lanes for record in lane.records)


def test_by_the_old_rule_it_is_cut_by_the_last_one_that_has_it():
    with planted(NO_EPOCHS):
        lanes = lanes_of()
        sent = two_failures(lanes)
        assert (sent.answer, lanes.replication.consumed()) == ("NONE", ["a"])
    (cut,) = [frame for frame in lanes.frames if any(record.sign == "−" for record in frame.lanes[2].records)]
    assert "begins to follow broker 1" in cut.caption
    assert [str(record) for record in cut.lanes[2].records] == ["a/0", "−b/0"]


def test_after_an_unclean_election_the_logs_are_one_again_and_b_is_gone():
    lanes = lanes_of(2, unclean=True)
    replication = lanes.replication
    assert unclean_election(lanes).answer == "NONE"
    assert held(replication, 0) == [("a", 0), ("b", 0)] and held(replication, 1) == [("a", 0), ("c", 2)]
    assert replication.lane(0).high_watermark == 2, "as it was written down"
    replication.fetch(0)
    assert held(replication, 0) == [("a", 0)]
    replication.fetch(0)
    replication.fetch(0)
    assert held(replication, 0) == held(replication, 1) == [("a", 0), ("c", 2)] and replication.isr == [0, 1]


def test_by_the_old_rule_both_are_in_sync_and_differ():
    with planted(NO_EPOCHS):
        lanes = lanes_of(2, unclean=True)
        replication = lanes.replication
        unclean_election(lanes)
        replication.fetch(0)
        replication.append("d")
        for _ in range(3):
            replication.fetch(0)
    assert (replication.values(0), replication.values(1), replication.isr) == (["a", "b", "d"], ["a", "c", "d"], [0, 1])
    assert replication.lane(0).high_watermark == replication.lane(1).high_watermark == 3


def test_an_epoch_that_the_leader_never_had_is_cut_off():
    lanes = lanes_of(2, unclean=True)
    replication = lanes.replication
    fast_failovers(lanes)
    assert (replication.lane(1).epochs, replication.lane(0).epochs) == (((0, 0), (1, 10), (5, 12)), ((0, 0), (3, 10)))
    replication.fetch(0)
    assert replication.lane(0).log_end == 10
    replication.fetch(0)
    assert replication.values(0) == replication.values(1) == list("abcdefghijklm")


def test_by_kip_101_alone_it_stays():
    with planted("a leader's answer does not name the epoch"):
        lanes = lanes_of(2, unclean=True)
        fast_failovers(lanes)
        for _ in range(3):
            lanes.replication.fetch(0)
    assert lanes.replication.values(0) == list("abcdefghijxlm")


def test_a_producer_is_answered_by_the_replicas_or_by_the_clock():
    replication = Replication(min_isr=2)
    sent = replication.append("a", "b")
    assert (sent.answer, sent.answered_at, str(sent)) == ("waits", None, "waits")
    replication.sleep(2)
    replication.fetch()
    replication.fetch()
    assert (sent.answer, sent.answered_at) == ("NONE", 2)
    late = replication.append("c")
    replication.sleep(31)
    assert (late.answer, late.answered_at) == ("REQUEST_TIMED_OUT", 32)
    assert replication.append("d", acks=1).answer == "NONE"


def test_a_producer_is_refused_where_too_few_are_in_sync_and_where_nobody_leads():
    replication = Replication(2, min_isr=2)
    replication.crash(1)
    assert replication.append("a").answer == "NOT_ENOUGH_REPLICAS"
    replication.crash(0)
    assert (replication.leader, replication.has_leader, replication.moment("dark").controller) == (
        None,
        False,
        "controller: nobody leads, epoch 1, ISR empty",
    )
    with pytest.raises(LookupError):
        replication.append("b")


def test_the_seconds_of_changes_of_the_isr_are_told():
    lanes = lanes_of()
    lanes.after("all fetch", lanes.replication.fetch)
    lanes.replication.sleep(1)
    lanes.after("a", lanes.replication.append, "a")
    assert lanes.sleep(60, fetching=[1]) == [45]
    assert [frame.caption for frame in lanes.frames] == ["all fetch", "a", "the ISR has changed"]
    assert lanes.frames[-1].lanes[2].standing == "not in the ISR"


def test_what_lies_on_the_disk_of_a_dead_broker():
    replication = Replication(2)
    replication.append("a")
    replication.fetch()
    replication.fetch()
    replication.crash(0)
    assert replication.lane(0).role == "is down" and replication.lane(0).high_watermark == 0, "not written down so far"
    replication.start(0)
    replication.sleep(5)
    replication.fetch()
    replication.sleep(5)
    replication.crash(1)
    assert replication.lane(1).high_watermark == 1


def test_what_came_and_what_was_cut_is_marked():
    def moment(*records):
        return ReplicaMoment("x", 0, 0, 0, (0,), (ReplicaLane(0, "leads", "", records, 0, len(records)),))

    a, b, c = HeldRecord(0, 0, "a"), HeldRecord(1, 0, "b"), HeldRecord(1, 1, "c")
    first = marked(None, moment(a, b))
    assert [record.sign for record in first.lanes[0].records] == ["", ""]
    second = marked(first, moment(a))
    assert [str(record) for record in second.lanes[0].records] == ["a/0", "−b/0"]
    third = marked(second, moment(a, c))
    assert [str(record) for record in third.lanes[0].records] == ["a/0", "+c/1"]
    assert [str(record) for record in marked(first, moment(a, c)).lanes[0].records] == ["a/0", "+c/1"]


@pytest.mark.slow
def test_every_moment_has_a_picture_and_a_text():
    lanes = lanes_of(2, unclean=True)
    fast_failovers(lanes)
    lanes.after("0 fetches", lanes.replication.fetch, 0)
    player = lanes.play()
    assert player.frame is lanes.frames[-1] and span_of(lanes.frames) == (0, 13)
    for frame in player.frames:
        html = render_replica_lanes(frame)
        picture = xml.dom.minidom.parseString(html).documentElement
        assert float(picture.getAttribute("width")) <= 900 and unreadable(html) == []
        assert picture.getElementsByTagName("title")[0].firstChild.data == str(frame)
    assert "epoch cache: 0 from 0, 1 from 10, 5 from 12" in render_replica_lanes(lanes.frames[-1])
    assert str(lanes.frames[-1]).count("−x/3") == 1


@pytest.fixture
def deal():
    yield ReplicaDeal(brokers=3, min_isr=2)
    Widget.close_all()  # else ipywidgets keeps it, and it keeps its brokers with all their files


def press(deal, *names):
    for name in names:
        assert not deal.buttons[name].disabled, name
        deal.buttons[name].click()
    assert not deal.errors


def test_a_deal_by_its_buttons(deal):
    press(deal, "append", "fetch 1", "fetch 2", "fetch 1", "fetch 2")
    assert deal.frame.producers == (("a", "NONE"),) and deal.frame.caption == "broker 2 fetches"
    assert deal.buttons["fetch 0"].disabled, "who leads fetches from nobody"
    press(deal, "power 0")
    assert deal.replication.leader == 1 and deal.buttons["power 0"].description == "broker 0 starts again"
    press(deal, "power 1", "power 2")
    assert deal.replication.leader is None and deal.buttons["append"].disabled and deal.buttons["fetch 2"].disabled
    press(deal, "power 2")
    assert deal.replication.leader is None, "broker 1 is still eligible"
    press(deal, "power 1", "time")  # it comes back from a crash, is eligible no more, and the last known leader leads
    assert deal.replication.leader == 2 and deal.frame.second == 15
    press(deal, "anew")
    assert (len(deal.lanes.frames), deal.frame.second, deal.replication.leader) == (1, 0, 0)


def test_a_deal_on_a_page_without_kernel(deal):
    deal.deal("append", "fetch 1")
    bundle = deal.play()._repr_mimebundle_()
    assert bundle["text/plain"] == str(deal) and str(deal).endswith(f"3. {deal.frame}")
    assert "<img" in bundle["text/html"] and "alt=" in bundle["text/html"] and "<svg" not in bundle["text/html"]


def test_an_error_of_a_button_shows_and_does_not_get_lost(deal):
    deal.replication.append = lambda *values: 1 / 0
    deal.buttons["append"].click()
    assert [type(error) for error in deal.errors] == [ZeroDivisionError]
    assert "ZeroDivisionError" in deal._alarm.value
    with pytest.raises(ZeroDivisionError):
        deal.deal("append")
    with pytest.raises(ValueError, match="fetch 0 can do nothing"):
        deal.deal("fetch 0")


WORKLOAD = ReplicaWorkload.parse("""
start 0
start 1
topic t 0,1 min.insync.replicas=2
publish 0
publish 1
produce 0 t-0 [3x10]
follow 1
follow 1
produce 0 acks=1 t-0 [1x10]
crash 0
change t-0 leader=1
publish 1
""")


def test_the_leader_of_a_partition_is_the_one_of_the_latest_epoch(silent):
    ours = by_minikafka(WORKLOAD)
    assert ours.value(7, "acknowledged") == (5,) and ours.value(7, "answers") == ((5, "NONE"),)
    assert ours.value(8, "acknowledged") == () and ours.value(8, "answers") == ((8, "NONE"),)
    assert ours.value(8, "log_ends") == ((0, 4), (1, 3))
    assert ours.value(9, "isr") is BLANK and ours.value(11, "isr") == (0, 1)


def test_the_witnesses_answer_in_the_order_in_which_a_lesson_names_them(silent, monkeypatch):
    monkeypatch.setattr(recorded_answers, "HAS_SPARK", True)
    for name in ("spark", "kafka"):
        monkeypatch.setattr(replica_witnesses, f"_by_{name}", lambda _, name=name: name)
    ours, *others = three_witnesses(WORKLOAD)
    assert ours.witness == "minikafka" and others == ["spark", "kafka"]


@pytest.mark.slow
def test_three_witnesses_of_a_lesson_agree(kafka, spark, silent, monkeypatch):
    monkeypatch.setattr("minikafka.lab.stage.log_dir_witnesses._kafka", [kafka])
    agreement = agree(*three_witnesses(WORKLOAD)).check()
    by = {line.quantity: line.witnesses for line in agreement.lines}
    own = dict.fromkeys(["log_ends", "high_watermarks", "epochs", "error", "answers"], ("minikafka", "kafka"))
    assert by == dict.fromkeys(by, ("minikafka", "spark", "kafka")) | own and len(by) == 14


@pytest.mark.spark
@pytest.mark.slow
def test_without_kafkas_jars_there_are_two_witnesses(spark, silent, monkeypatch, tmp_path):
    monkeypatch.setattr("minikafka.lab.stage.log_dir_witnesses._kafka", [])
    monkeypatch.setenv("MINIKAFKA_KAFKA_JARS", str(tmp_path))
    agreement = agree(*three_witnesses(WORKLOAD)).check()
    assert agreement.witnesses == ("minikafka", "spark")
    assert {"isr", "high_watermark", "acknowledged"} <= set(agreement.agreed_quantities)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_no_deal_loses_what_was_acknowledged(deal, seed):
    """What the lesson says of the buttons: no order of them does harm."""
    cards = random.Random(seed)
    for _ in range(70):
        possible = [name for name, button in deal.buttons.items() if not button.disabled and name != "anew"]
        press(deal, cards.choices(possible, [3 if name == "append" else 2 for name in possible])[0])
        up = [lane for lane in deal.frame.lanes if lane.role != "is down"]
        for lane in up:
            own = [record for record in lane.records if record.sign != "−"]
            for other in up:
                both = min(lane.high_watermark, other.high_watermark)
                assert [(r.offset, r.epoch, r.value) for r in own[:both]] == [
                    (r.offset, r.epoch, r.value) for r in other.records if r.sign != "−"
                ][:both]
            if lane.role == "leads":
                kept = {record.value for record in own}
                assert all(values in kept for values, answer in deal.frame.producers if answer == "NONE")
