"""The two settings of producer state."""

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class ProducerStateManagerConfig:
    """How long an idle producer is remembered, and whether transactional appends are verified first.

    `producer_id_expiration_ms` is `producer.id.expiration.ms`; `transaction_verification_enabled` is
    `transaction.partition.verification.enable` (True in a broker; False here, where nobody asks a coordinator). Both
    may be changed while the log is open. Kafka: `ProducerStateManagerConfig`.
    """

    producer_id_expiration_ms: int = 86_400_000
    transaction_verification_enabled: bool = False
