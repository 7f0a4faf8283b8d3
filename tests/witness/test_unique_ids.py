"""Directories with unique ids in their names get names that say what they are, and nothing of chance."""

from minikafka.witness.replicas.unique_ids import rename_without_unique_ids, without_unique_id


def test_only_unique_ids_are_left_out():
    assert without_unique_id(f"a.b-0.{'0f' * 16}-delete") == "a.b-0.ID-delete"
    assert without_unique_id("a.b-0") == "a.b-0"


def test_those_of_one_name_are_numbered_by_what_they_hold(tmp_path):
    for ids in ("12", "21"):
        disk = tmp_path / ids
        for number, digit in enumerate(ids):
            (log := disk / f"t-0.{digit * 32}-stray").mkdir(parents=True)
            (log / "file").write_text(str(number))
        (disk / "t-0").mkdir()
        rename_without_unique_ids(disk)
        found = {path.name: [file.read_text() for file in path.iterdir()] for path in disk.iterdir()}
        assert found == {"t-0": [], "t-0.ID-stray": ["0"], "t-0.ID-stray1": ["1"]}
