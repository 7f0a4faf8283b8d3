"""`minikafka dump-log`: the command line in front of `dump_log_segments`."""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from itertools import chain
from pathlib import Path

import click

from minikafka.common.errors import IllegalArgumentException, IOException, NumberFormatException
from minikafka.common.java.java_file_names import is_found_by_java
from minikafka.common.java.java_numbers import parse_int
from minikafka.log.partition_files import passed_over
from minikafka.tools.dump_log.coordinator_decoder import CoordinatorDecoder
from minikafka.tools.dump_log.dump_log_segments import SUFFIXES, DumpLogSegments, DumpOptions, can_be_dumped
from minikafka.tools.dump_log.record_decoders import (
    RecordDecoder,
    decode_cluster_metadata,
    decode_remote_log_metadata,
    decode_text,
)
from minikafka.tools.printable import on_terminal_printable, tell
from minikafka.tools.progress_bar import progress_bar
from minikafka.tools.tool_command import ToolCommand

# Options of Kafka's tool that load the user's own classes.
NOT_BUILT = ("value-decoder-class", "key-decoder-class")

# The decoders by their options; where there are several, Kafka's tool takes the first of this order.
DECODERS: dict[str, Callable[[], RecordDecoder]] = {
    "offsets_decoder": lambda: CoordinatorDecoder("consumer-offsets"),
    "transaction_log_decoder": lambda: CoordinatorDecoder("transaction-state"),
    "cluster_metadata_decoder": lambda: decode_cluster_metadata,
    "remote_log_metadata_decoder": lambda: decode_remote_log_metadata,
    "share_group_state_decoder": lambda: CoordinatorDecoder("share-group-state"),
}


class DumpLogCommand(ToolCommand):
    """A command that refuses Kafka's other options by name and ends with exit code 1 on wrong usage, as Kafka's tool
    does.

    As in Kafka's tool, one dash will do, a value behind a flag (`--deep-iteration=true`) means nothing, and words that
    belong to no option are ignored.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        args = list(map(self._canonical, args))
        for argument in args:
            name = argument.removeprefix("--").partition("=")[0]
            if argument.startswith("--") and name in NOT_BUILT:
                raise _usage_error(f"--{name} is an option of Kafka's tool that minikafka does not have", ctx)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.exit_code = 1
            raise

    def _canonical(self, argument: str) -> str:
        name, _, _ = argument.lstrip("-").partition("=")
        option = next((o for o in self.params if f"--{name}" in o.opts), None)
        if option is None or not argument.startswith("-"):
            return argument
        return f"--{name}" if option.is_flag else f"--{argument.lstrip('-')}"


class CommandLine:
    """The options of one run, with the names of `DumpOptions`.

    A number is parsed only when it is needed, because Kafka's tool, too, prints the file's name before it complains
    about a number.
    """

    def __init__(
        self,
        max_message_size: tuple[str, ...],
        max_bytes: tuple[str, ...],
        max_decompressed_bytes: tuple[str, ...],
        print_data_log: bool,
        **flags: bool,
    ):
        decoders = [make for name, make in DECODERS.items() if flags.pop(name)]
        self.decoder = decoders[0]() if decoders else decode_text
        self.print_data_log = print_data_log or bool(decoders)
        self._max_message_size = max_message_size
        self._max_bytes = max_bytes
        self._max_decompressed_bytes = max_decompressed_bytes
        for name, value in flags.items():
            setattr(self, name, value)

    @property
    def max_message_size(self) -> int:
        """Bytes. Raises IllegalArgumentException."""
        return _the_number("max-message-size", self._max_message_size, DumpOptions().max_message_size)

    @property
    def max_bytes(self) -> int:
        """Bytes. Raises IllegalArgumentException."""
        return _the_number("max-bytes", self._max_bytes, DumpOptions().max_bytes)

    @property
    def max_decompressed_bytes(self) -> int:
        """Bytes. Raises IllegalArgumentException."""
        default = DumpOptions().max_decompressed_bytes
        return _the_number("max-decompressed-bytes", self._max_decompressed_bytes, default)


def _the_number(option: str, given: tuple[str, ...], default: int) -> int:
    text = _the_one(option, given) if given else str(default)
    try:
        return parse_int(text)
    except NumberFormatException:
        raise IllegalArgumentException(f"Cannot parse argument '{text}' of option {option}") from None


def _the_one(option: str, given: tuple[str, ...]) -> str:
    if len(given) > 1:
        raise IllegalArgumentException(f"Found multiple arguments for option {option}, but you asked for only one")
    return given[0]


def _usage_error(message: str, ctx: click.Context) -> click.UsageError:
    error = click.UsageError(message, ctx)
    error.exit_code = 1
    return error


@click.command(
    cls=DumpLogCommand,
    name="dump-log",
    context_settings={"help_option_names": ["-h", "--help"], "allow_extra_args": True},
)
@click.option(
    "--files",
    required=True,
    multiple=True,
    metavar="F[,F...]",
    help="The files to dump, or partitions' directories, with commas between them.",
)
@click.option(
    "--print-data-log",
    is_flag=True,
    help="Print keys and values too; brings --deep-iteration with it, and comes with any decoder.",
)
@click.option("--deep-iteration", is_flag=True, help="Print a line for each record, not only for each batch.")
@click.option("--offsets-decoder", is_flag=True, help="Decode the records of __consumer_offsets.")
@click.option("--transaction-log-decoder", is_flag=True, help="Decode the records of __transaction_state.")
@click.option("--cluster-metadata-decoder", is_flag=True, help="Decode the records of __cluster_metadata.")
@click.option("--remote-log-metadata-decoder", is_flag=True, help="Decode the records of __remote_log_metadata.")
@click.option("--share-group-state-decoder", is_flag=True, help="Decode the records of __share_group_state.")
@click.option("--skip-record-metadata", is_flag=True, help="Print keys and values alone, and no control records.")
@click.option("--index-sanity-check", is_flag=True, help="Only run the check that Kafka has for an index.")
@click.option("--verify-index-only", is_flag=True, help="Only compare an index with its log.")
@click.option("--max-message-size", multiple=True, metavar="N", help="Bytes; 5242880 unless told.")
@click.option("--max-bytes", multiple=True, metavar="N", help="Read no more than so many bytes of a .log file.")
@click.option(
    "--max-decompressed-bytes",
    multiple=True,
    metavar="N",
    help="End at a batch whose records, if they are asked for, decompress to more bytes; 536870912 unless told.",
)
def dump_log(files: tuple[str, ...], **options) -> None:
    """Print log segments and indexes, line for line as Kafka's own tool prints them.

    Takes .log, .index, .timeindex, .txnindex and .snapshot files, the .checkpoint snapshots of the metadata log, and
    checkpoint files besides. A directory, which Kafka's tool does not take, stands for those in it: segment by segment,
    the log before its indexes.
    """
    out, err = map(on_terminal_printable, (sys.stdout, sys.stderr))
    dump = DumpLogSegments(CommandLine(**options), out, err, _progress_bar)
    with suppress(BrokenPipeError):  # whoever reads the lines (`head`, say) has enough: that is no failure
        dump.run(chain.from_iterable(map(_files_of, _split(_the_one("files", files)))))
        sys.stdout.flush()


def _split(files: str) -> list[str]:
    """Split as Java's `split(",")` does: empty names at the end do not count, unless there is no comma at all."""
    return files.rstrip(",").split(",") if files.strip(",") or not files else []


def _files_of(name: str) -> list[str]:
    """The file itself; for a directory, the files in it that can be dumped, in the order of their offsets.

    Raises IOException for a directory without any.
    """
    if can_be_dumped(name) or not os.path.isdir(name):
        return [name]
    names = [each for each in os.listdir(name) if is_found_by_java(each) and can_be_dumped(each)]
    for line in passed_over(Path(name)):
        tell(f"Warning: {name}: {line}", err=True)
    if not names:
        raise IOException(f"{name} is a directory without a file that can be dumped")
    names.sort(key=lambda each: (each.partition(".")[0], SUFFIXES.index(Path(each).suffix)))
    return [os.path.join(name, each) for each in names]


def _progress_bar(path: Path, total_bytes: int) -> AbstractContextManager[Callable[[int], None]]:
    """A progress bar, shown unless the lines themselves go to the terminal."""
    return progress_bar(path.name, total_bytes, shown=not sys.stdout.isatty())
