"""The stubs beside the modules of messages are those of the tables, and a type checker sees the fields."""

import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.messages import apis, cluster_metadata
from minikafka.messages.message_codec import Message
from minikafka.messages.message_tables import message_schemas
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_class
from tests.tools import make_message_types

USER = """
from minikafka.messages.apis import FetchRequest
from minikafka.messages.cluster_metadata import MetadataRecord, PartitionRecord

partition = FetchRequest.FetchTopic.FetchPartition(partition=0, fetch_offset=1)
request = FetchRequest(topics=[FetchRequest.FetchTopic(topic="t", partitions=[partition])])
request.topics[0].partitions[0].fetch_ofset
FetchRequest(max_wait="soon")
record: MetadataRecord = PartitionRecord(isr=(0,))
for replica in PartitionRecord().eligible_leader_replicas:
    pass
"""


@pytest.mark.parametrize("table", make_message_types.TABLES)
def test_the_stubs_are_those_of_the_tables(table):
    made_anew = make_message_types.stub(table)
    assert make_message_types.stub_of(table).read_text() == made_anew, "python -m tests.tools.make_message_types"


def test_the_apis_are_those_of_the_table():
    assert make_message_types.API_KEYS.read_text() == make_message_types.apis(), (
        "python -m tests.tools.make_message_types"
    )


def test_a_module_has_the_messages_of_its_table():
    assert apis.FetchRequest is request_class(ApiKeys.FETCH)
    assert {getattr(cluster_metadata, name).schema.name for name in message_schemas("cluster-metadata")} == {
        *message_schemas("cluster-metadata")
    }
    assert issubclass(cluster_metadata.PartitionRecord, Message)
    with pytest.raises(AttributeError, match="cluster-metadata has no message Nothing"):
        cluster_metadata.Nothing  # noqa: B018


@pytest.mark.slow
def test_a_type_checker_sees_misspelt_fields_and_wrong_types(tmp_path):
    file = tmp_path / "user.py"
    file.write_text(USER)
    repository = Path(__file__).parents[2]
    check = subprocess.run([sys.executable, "-m", "mypy", str(file)], cwd=repository, capture_output=True, text=True)
    found = [line for line in check.stdout.splitlines() if "error" in line]
    assert [line.partition("error: ")[2].rpartition("[")[2] for line in found[:-1]] == [
        "attr-defined]",
        "call-arg]",
        "arg-type]",
        "union-attr]",
    ], check.stdout
