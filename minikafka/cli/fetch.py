"""`minikafka fetch`: Kafka's jars into the cache, and what is made of them once, so that lessons wait less."""

import click

from minikafka.jvm import class_archive
from minikafka.jvm.cache import cache_dir
from minikafka.jvm.java_home import JavaNotFoundError, java_home
from minikafka.jvm.kafka_jars import (
    COORDINATES,
    KAFKA_VERSION,
    KafkaJarsUnavailableError,
    cached_classpath,
    kafka_classpath,
    wrong_jars,
)
from minikafka.jvm.kafka_jars import fetch as fetch_jars
from minikafka.jvm.scala_compiler import CompilationError
from minikafka.spark.session import jars_for_spark
from minikafka.tools.ended_by_signals import ended_by_signals
from minikafka.tools.tool_command import ToolCommand
from minikafka.witness.kafka.scala_objects import compile_once, to_compile


@click.command(cls=ToolCommand)
@click.option("--again", is_flag=True, help="Resolve them anew even if the cache has them.")
def fetch(again: bool) -> None:
    """Download Apache Kafka's jars (about 55 MB) into the cache, once; lessons and tests then need no network.

    Besides, what a lesson would else wait for is made there: the compiled code that drives Kafka's brokers, and an
    archive of the classes that Spark loads (150 MB), with which Spark starts in half the time.
    """
    try:
        with ended_by_signals():
            _fetch(again=again)
    except (KafkaJarsUnavailableError, JavaNotFoundError, CompilationError) as unavailable:
        raise click.ClickException(str(unavailable)) from unavailable
    click.echo(f"in {cache_dir()}")


def _fetch(*, again: bool) -> None:
    for part in COORDINATES:
        jars = cached_classpath(part)
        if again or jars is None or wrong_jars(jars):
            click.echo(f"Fetching Kafka {KAFKA_VERSION}, {part} (55 MB in all) ...")
            jars = fetch_jars(part) if again or jars else kafka_classpath(part)
        click.echo(f"Kafka {KAFKA_VERSION} {part}: {len(jars)} jars")
    for name in to_compile():
        click.echo(f"Compiling {name}, with which Kafka is asked (ten seconds) ...")
        compile_once(name)
    jars = jars_for_spark()
    if again or not class_archive.was_made(java_home(), jars):
        from minikafka.witness import class_training  # which imports Spark

        click.echo("Archiving Spark's classes for a quicker start (150 MB, half a minute) ...")
        class_archive.make(java_home(), jars, training=class_training.__name__)
