"""`minikafka lab`: the course in JupyterLab, on a working copy, from a clone or from an installed wheel."""

from pathlib import Path

import click

from minikafka.cli.fetch import fetch
from minikafka.tools.printable import tell


@click.command()
@click.option("--lay-out", is_flag=True, help="Only bring the working copy up to date; open nothing.")
@click.option(
    "--take",
    "taken",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Bring in what you did in a browser: the file that my_progress() offers there.",
)
@click.pass_context
def lab(context: click.Context, lay_out: bool, taken: Path | None) -> None:
    """Open the lessons in JupyterLab, in the folder my-lessons; a notebook of which you have changed a cell stays.

    Kafka's jars are fetched first, once. Without a network the lessons run with two witnesses.
    """
    import jupyterlab  # noqa: F401 - where it is missing, nothing is laid out

    from minikafka.lab.course import work_file, working_copy

    if taken is not None:
        try:
            work_file.read_work(taken)
        except (work_file.WorkFileError, OSError) as failure:
            raise click.ClickException(f"{failure}; nothing was taken") from None
    working_copy.lay_out_and_say()
    if taken is not None:
        for line in work_file.take(taken):
            tell(line)
    if lay_out:
        return
    try:
        context.invoke(fetch)
    except click.ClickException as unavailable:
        click.echo(unavailable.format_message(), err=True)
    working_copy.open_lab()
