"""minikafka: Apache Kafka's storage layer as readable Python, byte for byte.

The rooms, from the bottom up: `common`, `record`, `checkpoint`, `log`; on top of them `spark`, `witness` and `lab`.
Importing this package imports none of them.
"""

__version__ = "0.1.0"
