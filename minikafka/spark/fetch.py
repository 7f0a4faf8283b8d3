"""`minikafka fetch`: Kafka's jars into the cache."""

import click

from minikafka.spark.cache import cache_dir
from minikafka.spark.kafka_jars import COORDINATES, KAFKA_VERSION, KafkaJarsUnavailableError, cached_classpath
from minikafka.spark.kafka_jars import fetch as fetch_jars


@click.command()
@click.option("--again", is_flag=True, help="Resolve them anew even if the cache has them.")
def fetch(again: bool) -> None:
    """Download Apache Kafka's jars (about 55 MB) into the cache, once; lessons and tests then need no network."""
    for part in COORDINATES:
        jars = None if again else cached_classpath(part)
        try:
            jars = jars or fetch_jars(part)
        except KafkaJarsUnavailableError as unavailable:
            raise click.ClickException(str(unavailable)) from unavailable
        click.echo(f"Kafka {KAFKA_VERSION} {part}: {len(jars)} jars")
    click.echo(f"in {cache_dir()}")
