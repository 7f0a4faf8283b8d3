"""`minikafka lab`: the course in JupyterLab, on a working copy, from a clone or from an installed wheel."""

import click

from minikafka.cli.fetch import fetch


@click.command()
@click.option("--lay-out", is_flag=True, help="Only bring the working copy up to date; open nothing.")
@click.pass_context
def lab(context: click.Context, lay_out: bool) -> None:
    """Open the lessons in JupyterLab, in the folder my-lessons; what you have changed there is never overwritten.

    Kafka's jars are fetched first, once. Without a network the lessons run with two witnesses.
    """
    import jupyterlab  # noqa: F401 - where it is missing, nothing is laid out

    from minikafka.lab.course import working_copy

    working_copy.lay_out_and_say()
    if lay_out:
        return
    try:
        context.invoke(fetch)
    except click.ClickException as unavailable:
        click.echo(unavailable.format_message(), err=True)
    working_copy.open_lab()
