"""minikafka: Apache Kafka's storage layer as readable Python, byte for byte.

The rooms, from the bottom up: `common`, `record`, `checkpoint`, `log`; on top of them `spark`, `witness` and `lab`.
Importing this package imports none of them.
"""

import logging

__version__ = "0.1.0"

# What Kafka writes to its server log goes to Python's `logging`; a program that wants to see it says so.
logging.getLogger(__name__).addHandler(logging.NullHandler())
