"""Which storage a path or URI leads to."""

from collections.abc import Mapping

from minikafka.spark.source.local_storage import LocalStorage
from minikafka.spark.source.storage import Storage
from minikafka.spark.source.uri_storage import uri_storage_of


def storage_of(path: str, settings: Mapping[str, str]) -> tuple[Storage, str]:
    """The storage of a path or URI, and the whole path in it.

    `settings` are the options `fs.…` of a query, without that prefix. Raises IllegalArgumentException for a scheme or a
    setting that there is not.
    """
    if "://" in path and not path.startswith("file://"):
        return uri_storage_of(path, settings)
    return LocalStorage(), path.removeprefix("file://")
