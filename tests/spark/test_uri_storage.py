"""What a URI says of its storage, before anything is asked for; against a server: test_uris."""

import pytest

from minikafka.common.errors import IllegalArgumentException
from minikafka.spark.source.uri_storage import uri_storage_of

ENDPOINT = {"s3a.endpoint": "https://127.0.0.1:1", "region": "eu-central-1"}


def test_the_keys_of_a_uri_are_settings_and_no_part_of_a_name():
    storage, uri = uri_storage_of("S3://key:very%2Fsecret@bucket/log-dir/", ENDPOINT)
    assert (storage.root, uri, repr(storage)) == ("s3://bucket", "s3://bucket/log-dir", "s3://bucket")
    assert dict(storage.settings) == {
        "access_key": "key", "secret_key": "very/secret", "scheme": "https", "endpoint_override": "127.0.0.1:1",
        "region": "eu-central-1",
    }  # fmt: skip


def test_what_is_no_uri_is_told():
    with pytest.raises(IllegalArgumentException, match="^bucket/log-dir is no URI$"):
        uri_storage_of("bucket/log-dir", {})
