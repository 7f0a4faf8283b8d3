"""The two settings of producer state, changeable while the log is open."""

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class ProducerStateManagerConfig:
    """How long an idle producer is remembered, and whether transactional appends are verified first.

    `producer_id_expiration_ms` is `producer.id.expiration.ms`; `transaction_verification_enabled` is
    `transaction.partition.verification.enable`. Kafka: `ProducerStateManagerConfig`.
    """

    producer_id_expiration_ms: int = 86_400_000
    transaction_verification_enabled: bool = False
