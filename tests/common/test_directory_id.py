"""The ids that stand for no directory, and which directories can be used. Kafka: `DirectoryIdTest`."""

from minikafka.common.directory_id import LOST_DIR, MIGRATING_DIR, UNASSIGNED_DIR, is_online, is_reserved
from minikafka.common.uuid import random_uuid


def test_reserved_ids_have_kafkas_names():
    reserved = [MIGRATING_DIR, UNASSIGNED_DIR, LOST_DIR]
    assert reserved == ["AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"]
    assert all(map(is_reserved, reserved)) and not is_reserved(random_uuid())


def test_a_directory_that_is_not_known_yet_can_be_used_and_a_lost_one_cannot():
    here, elsewhere = random_uuid(), random_uuid()
    assert is_online(here, [here]) and not is_online(elsewhere, [here])
    assert is_online(elsewhere, []), "a broker that names no directory is believed to have all"
    for directories in ([], [here]):
        assert is_online(MIGRATING_DIR, directories) and is_online(UNASSIGNED_DIR, directories)
        assert not is_online(LOST_DIR, directories)
