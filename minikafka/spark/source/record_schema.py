"""The columns of the source's records, with the names and types of Spark's own Kafka connector."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from minikafka.common.errors import IllegalArgumentException
from minikafka.spark.source.damage import Mode
from minikafka.spark.source.range_rows import PARTITIONS, RANGES, carrying
from minikafka.spark.source.record_rows import CORRUPT
from minikafka.spark.source.source_options import SourceOptions
from minikafka.spark.source.tables import RECORDS, schema_of_table
from minikafka.spark.source.verify_rows import VERIFY

RECORD: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
}
SIZES: dict[str, DataType] = {"keySize": IntegerType(), "valueSize": IntegerType()}
"""Bytes of keys and values, null for a null; for queries that name them in `.schema(…)`."""
HEADERS: dict[str, DataType] = {
    "headers": ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
}
BATCHES: dict[str, DataType] = {
    "leaderEpoch": IntegerType(),
    "producerId": LongType(),
    "producerEpoch": ShortType(),
    "sequence": IntegerType(),
    "transactional": BooleanType(),
    "codec": StringType(),
    "baseOffset": LongType(),
    "segment": StringType(),
    "position": LongType(),
}
DAMAGE: dict[str, DataType] = {
    CORRUPT: StructType(
        [StructField("file", StringType()), StructField("position", LongType()), StructField("exception", StringType())]
    )
}


def schema_of(options: SourceOptions) -> StructType:
    """The columns that the options ask for, in the order of Spark's connector.

    Raises IllegalArgumentException for a table that there is not.
    """
    damage = DAMAGE if options.on_damage.mode is Mode.PERMISSIVE else {}
    if options.table != RECORDS:
        schema = schema_of_table(options.table, damage)
        is_for_jobs = options.table in (RANGES, PARTITIONS, VERIFY)
        return carrying(schema, options.storage_settings, options.isolation) if is_for_jobs else schema
    headers = HEADERS if options.include_headers else {}
    batches = BATCHES if options.include_batches else {}
    columns = RECORD | headers | batches | damage
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def require_known(schema: StructType, table: str) -> None:
    """Raises IllegalArgumentException for a column that a query asks for and that `table` does not have."""
    known = RECORD | SIZES | HEADERS | BATCHES | DAMAGE
    if table != RECORDS:
        known = {field.name: field.dataType for field in schema_of_table(table, DAMAGE)}
    for field in schema:
        if known.get(field.name) != field.dataType:
            raise IllegalArgumentException(
                f"There is no column `{field.name} {field.dataType.simpleString()}`; there are: "
                + ", ".join(f"{name} {kind.simpleString()}" for name, kind in known.items())
            )
