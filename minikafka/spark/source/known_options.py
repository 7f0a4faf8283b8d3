"""Which options the data source knows; another one is refused, since a mistyped name would read everything."""

import difflib
from collections.abc import Iterable

from minikafka.common.errors import IllegalArgumentException

SOURCE_OPTIONS = (
    "path", "paths", "table", "subscribe", "subscribePattern", "assign",
    "startingOffsets", "endingOffsets", "startingTimestamp", "endingTimestamp",
    "startingOffsetsByTimestamp", "endingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy",
    "isolation.level", "bounds", "copies", "mode", "failOnDataLoss", "checkCrcs", "includeHeaders", "includeBatches",
    "maxBytesPerTask", "minPartitions", "maxRecordsPerPartition",
    "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "pushFilters",
)  # fmt: skip
IGNORED_OPTIONS = (
    "kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "groupIdPrefix",
)  # fmt: skip
"""Of Spark's Kafka connector: how it talks with brokers. So are all `kafka.…` but `kafka.isolation.level`."""

_PREFIXES = ("kafka.", "fs.")
_REFUSED = {
    "kafka.auto.offset.reset": "startingOffsets says where a query starts",
    "kafka.key.deserializer": "keys are bytes",
    "kafka.value.deserializer": "values are bytes",
    "kafka.enable.auto.commit": "nothing is committed",
    "kafka.interceptor.classes": "records are given as they are",
}
"""What Spark's Kafka connector refuses, too, since it would change what a query reads."""


def require_known(given: Iterable[str], known: tuple[str, ...]) -> None:
    """Raises IllegalArgumentException for a name, in any case, that is not `known`; it names the nearest."""
    names = {name.lower(): name for name in known}
    for name in given:
        if name.lower() in names:
            continue
        nearest = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
        told = f"the nearest is {names[nearest[0]]}" if nearest else f"there are {', '.join(known)}"
        raise IllegalArgumentException(f"There is no option {name!r}; {told}")


def require_source_options(given: Iterable[str]) -> None:
    """As `require_known`, of the data source's reader. Raises IllegalArgumentException, too, for what it refuses."""
    of_no_prefix = []
    for name in given:
        if name.lower() in _REFUSED:
            raise IllegalArgumentException(f"The option {name} is not supported: {_REFUSED[name.lower()]}")
        if not name.lower().startswith(_PREFIXES):
            of_no_prefix.append(name)
    require_known(of_no_prefix, (*SOURCE_OPTIONS, *IGNORED_OPTIONS))
