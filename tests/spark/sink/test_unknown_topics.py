"""A topic that the cluster of the log directory does not know: its broker will take the directories for strays."""

from minikafka.spark.sink.write_log_dir import is_known_beside
from tests.tools.noted_topics import note_topics


def test_a_topic_that_the_metadata_log_beside_it_does_not_name(tmp_path):
    assert is_known_beside(tmp_path, "orders"), "no metadata log says anything"
    note_topics(tmp_path, {"orders": {}})
    assert is_known_beside(tmp_path, "orders") and not is_known_beside(tmp_path, "others")
    [log] = (tmp_path / "__cluster_metadata-0").glob("*.log")
    log.write_bytes(log.read_bytes()[:-1] + b"x")
    assert is_known_beside(tmp_path, "others"), "it cannot be believed any more"
