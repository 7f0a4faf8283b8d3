"""Where the directories are that a real Kafka broker wrote."""

from pathlib import Path

from minikafka.jvm.kafka_jars import KAFKA_VERSION

GOLDEN = Path(__file__).parent / f"kafka-{KAFKA_VERSION}"
"""A log directory whose topic `mixed` has all that a log can hold; `make_golden.py` makes it."""
MIXED = GOLDEN / "mixed-0"
"""Its only partition."""
