"""Log directories are found, loaded, kept and left as by Kafka's own log manager: the same bytes, the same refusals."""

import shutil
from pathlib import Path

from minikafka.common.topic_partition import TopicPartition

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3.0"
P = [TopicPartition("topic", number) for number in range(4)]


def start(one):
    one.start()


def stop(one):
    one.stop()


def create(partition, **how):
    def act(one):
        one.manager.get_or_create_log(partition, is_new=True, **how)

    return act


def append(partition, *batches):
    def act(one):
        one.append(partition, *batches)

    return act


def tick(ms):
    def act(one):
        one.time.sleep(ms)

    return act


def test_a_directory_that_a_broker_left_is_loaded_kept_and_left(two_managers):
    managers = two_managers("a")
    managers.change(lambda directory: shutil.copytree(GOLDEN, directory / "a"))
    managers.do(start)
    for _ in range(7):
        managers.do(tick(60_000))
    managers.do(stop)


def test_new_logs_are_written_closed_and_found_again(two_managers):
    managers = two_managers("a", "b")
    managers.do(start)
    for partition in P:
        managers.do(create(partition, topic_id="PpIMd8oaSBmIYZ7G-q3OmQ"))
        managers.do(append(partition, *["[3x100 pid=7 epoch=0 seq=0]", "[5x80]"] * 1, *["[4x100]"] * 9))
    managers.do(tick(70_000))
    managers.do(stop)
    managers.do(start)
    managers.do(append(P[1], "[3x100]"))
    managers.do(stop)
