"""`minikafka verify`: checks partition directories, or whole log directories, and changes nothing.

For each finding it reports the file, the byte position, the offset, and what Kafka would do about it at its next start,
which depends on whether the last stop was clean and on the checkpoints beside the partition's directory.
"""

import json
import os
import sys
from pathlib import Path

import click

from minikafka.common.file_kind import leads_to_file
from minikafka.log.partition_files import FOLLOW_LINKS, passed_over
from minikafka.tools.ended_by_signals import ended_by_signals
from minikafka.tools.failure import TOLD, describe
from minikafka.tools.log_dir_entries import what_it_stands_for
from minikafka.tools.printable import tell
from minikafka.tools.progress_bar import progress_bar
from minikafka.tools.recover.offline_log import config_of
from minikafka.tools.tool_command import ToolCommand
from minikafka.tools.verify.findings import Fate, Finding, Note
from minikafka.tools.verify.log_dir_state import LogDir, require_no_broker
from minikafka.tools.verify.log_dir_verifier import allow_many_open_files, partitions_of, report_beside
from minikafka.tools.verify.partition_verifier import PartitionVerifier


@click.command(cls=ToolCommand, failure_exit_code=2, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directories", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option("--config", "configs", multiple=True, metavar="K=V", help="A topic setting, by Kafka's name; repeatable.")
@click.option(FOLLOW_LINKS, is_flag=True, help="Read files that are symbolic links.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(directories: tuple[Path, ...], configs: tuple[str, ...], follow_links: bool, as_json: bool) -> None:
    """Check partition directories, or whole log directories, without changing a byte. No broker may be running there.

    Offsets in no batch are a finding where cleanup.policy is delete, by --config or the metadata log in the directory;
    normal where it is compact; and a note where it is not known.

    Exit code: 0 when all is sound, also with notes, 1 with findings, 2 when something could not be read.
    """
    config = config_of(configs)
    findings: list[Finding] = []
    notes: list[Note] = []
    unread: list[str] = []
    partitions: list[Path] = []
    given: list[Path] = []  # one by one, not found in a log directory
    log_dirs: dict[Path, LogDir] = {}
    allow_many_open_files()
    for directory in map(what_it_stands_for, directories):
        try:
            found = partitions_of(directory, findings.append, unread.append)
            given += [directory] if found == [directory] else []
            partitions += found
        except TOLD as error:
            unread.append(describe(error))
        if directory not in given:
            stays = Fate.STAYS, "it stays"
            findings += [Finding(directory, None, None, what, *stays) for what in passed_over(directory)]
    report_beside(given, findings.append, unread.append)
    with ended_by_signals(), progress_bar("verify", sum(map(_log_bytes, partitions))) as advance:
        for partition in partitions:
            try:
                log_dir = Path(os.path.abspath(partition)).parent
                if log_dir not in log_dirs:
                    log_dirs[log_dir] = LogDir(log_dir)
                if partition.is_symlink():
                    require_no_broker(Path(os.path.realpath(partition)).parent)
                next_start = log_dirs[log_dir].next_start_of(partition, config)
                PartitionVerifier(
                    partition,
                    next_start,
                    report=findings.append,
                    unread=unread.append,
                    note=notes.append,
                    advance=advance,
                    noted=log_dirs[log_dir].noted_of(partition),
                    follow_links=follow_links,
                ).verify()
            except TOLD as error:
                unread.append(f"{partition}: {describe(error)}")
    exit_code = 2 if unread else 1 if findings else 0
    try:
        _print(partitions, findings, notes, unread, as_json)
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # whoever reads has enough; the exit code stays true
    sys.exit(exit_code)


def _log_bytes(partition: Path) -> int:
    """The bytes of all segments, for the progress bar; what cannot be seen is reported later."""
    try:
        with os.scandir(partition) as entries:
            return sum(e.stat().st_size for e in entries if e.name.endswith(".log") and leads_to_file(e))
    except OSError:
        return 0


def _print(
    partitions: list[Path], findings: list[Finding], notes: list[Note], unread: list[str], as_json: bool
) -> None:
    if as_json:
        told = [{**f._asdict(), "file": str(f.file), "fate": f.fate.value} for f in findings]
        noted = [{**note._asdict(), "file": str(note.file)} for note in notes]
        named = list(map(str, partitions))
        click.echo(json.dumps({"partitions": named, "findings": told, "notes": noted, "unread": unread}))
        return
    for finding in findings:
        position = "" if finding.position is None else f":{finding.position}"
        offset = "" if finding.offset is None else f" (offset {finding.offset})"
        tell(f"{finding.file}{position}: {finding.what}{offset}; at the next start: {finding.next_start}")
    for note in notes:
        tell(f"{note.file}: note: {note.what}")
    for line in unread:
        tell(line, err=True)
    if not findings and not unread:
        tell(f"{len(partitions)} partition{'s' if len(partitions) != 1 else ''} sound")
