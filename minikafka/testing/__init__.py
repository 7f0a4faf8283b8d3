"""A broker for tests of programs that talk to Kafka: it is up in milliseconds, without Java.

    from minikafka.testing import Broker

    with Broker(topics={"orders": 2}) as broker:
        broker.append("orders", 0, b"first", b"second")
        consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, ...)

Groups and transactions are missing: consumers assign their partitions, and commit nothing. A client that wants more is
refused at once.

Read `broker` first, then `node`, which is the broker that it holds, in this process or, by `node_process`, in one of
its own. `injected_answers` has what a test wants answered in place of the broker, `moved_clock` the time.
"""

from minikafka.common.error_codes import Errors
from minikafka.network.api_keys import ApiKeys
from minikafka.network.request import NoBytes
from minikafka.testing.broker import Broker
from minikafka.testing.node import Kept

__all__ = ["ApiKeys", "Broker", "Errors", "Kept", "NoBytes"]
