"""`minikafka clean`: one round of the log cleaner over a partition's directory, and what the cleaner counted.

The partition is loaded as `recover` loads it, cleaned as the cleaner would clean it next, however dirty it is, and
closed. The round is tried on a copy first, and the directory is changed only if that goes well. As a broker's cleaner
it leaves alone what is not known to be replicated, and a topic whose cleanup.policy is not compact, as far as the files
beside the partition tell: `replication-offset-checkpoint` and the metadata log.

Before that all batches are checked, for a broker does not check them: at a damaged one its load may cut off all that
follows, and its cleaner gives a damaged record a new checksum, by which nobody can tell any more. So a damaged log is
refused.

Kafka: `LogCleaner.CleanerThread.cleanLog`.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.cli.recover import INT64
from minikafka.common.errors import IllegalArgumentException, KafkaException, NumberFormatException
from minikafka.common.file_kind import is_there
from minikafka.common.java.java_hash_map import JavaHashMap
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.common.time import ManualTime
from minikafka.common.topic import CLUSTER_METADATA_TOPIC_NAME
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import log_file
from minikafka.log.manager.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.tools.checkpoints import read_checkpoint, require_storable
from minikafka.tools.clean.before_cleaning import require_sound_batches
from minikafka.tools.clean.cleaning_round import CleaningRound, Limits, clean_once
from minikafka.tools.ended_by_signals import ended_by_signals
from minikafka.tools.failure import TOLD, describe, naming
from minikafka.tools.log_dir_entries import passed_over_in, what_it_stands_for
from minikafka.tools.printable import tell
from minikafka.tools.progress_bar import progress_bar
from minikafka.tools.recover.before_recovery import require_descriptors, require_replaceable, require_room
from minikafka.tools.recover.cluster_settings import cluster_settings_in, node_id_in
from minikafka.tools.recover.offline_log import ask, config_of, known_of, made_ready, taken
from minikafka.tools.tool_command import AS_JSON, CHANGE_LINKED_FILES, YES, ToolCommand, report_of_what_is_done
from minikafka.tools.verify.rehearsal import silence

_COUNTED = (
    "bytes_read",
    "bytes_written",
    "messages_read",
    "messages_written",
    "map_bytes_read",
    "map_messages_read",
    "invalid_messages_read",
)
_DESCRIPTORS_PER_SEGMENT = 8
"""Those of a segment and of the one that takes its place."""


@click.command(cls=ToolCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@click.option("--config", "configs", multiple=True, metavar="K=V", help="A topic setting, by Kafka's name; repeatable.")
@click.option("--now-ms", type=INT64, help="The clock, in ms since 1970, in place of the machine's.")
@click.option(
    "--map-memory",
    type=click.IntRange(0, INT_MAX),
    metavar="BYTES",
    help="Memory of the offset map (log.cleaner.dedupe.buffer.size of one thread); 134217728 unless told.",
)
@click.option(
    "--high-watermark",
    type=INT64,
    help="Clean below it only, instead of the one in replication-offset-checkpoint; without either, up to the end.",
)
@click.option("--first-dirty-offset", type=INT64, help="Instead of the one in cleaner-offset-checkpoint.")
@click.option("--even-damaged", is_flag=True, help="Clean a damaged log as Kafka would, whatever that takes away.")
@click.option("--dry-run", is_flag=True, help="Work on a copy, leave the directory as it is, say what would be saved.")
@AS_JSON
@YES
@CHANGE_LINKED_FILES
def clean(
    directory: Path,
    configs: tuple[str, ...],
    now_ms: int | None,
    map_memory: int | None,
    high_watermark: int | None,
    first_dirty_offset: int | None,
    even_damaged: bool,
    dry_run: bool,
    as_json: bool,
    yes: bool,
    follow_links: bool,
) -> None:
    """Compact the partition directory DIR: one round of the log cleaner.

    The log is loaded first, as a broker that starts does, which may cut off its end after an unclean stop, and holds a
    transaction for ended whose marker lies at or above the high watermark; `minikafka spark compaction` takes it as it
    lies on the disk.

    The round begins where cleaner-offset-checkpoint, in the directory above, says that the last one ended, or else at
    the log's start. If there is such a file, it is updated to say where this round ended. The settings of the topic are
    those in the metadata log, if the directory above has one, and --config; a topic whose cleanup.policy is not compact
    is refused, and so is one that the metadata log has without a policy. If nobody knows the topic, a log with records
    without keys is refused; a damaged one always is. The exit code is 3 when the round is done, and a signal or its
    output has stopped the report.
    """
    directory = Path(os.path.abspath(directory))
    if dry_run or follow_links:  # else a link is refused, by its own name
        directory = what_it_stands_for(directory)
    partition = parse_topic_partition_name(directory)
    for line in passed_over_in(directory):
        tell(f"Warning: {line}", err=True)
    if partition.topic == CLUSTER_METADATA_TOPIC_NAME:
        raise IllegalArgumentException(f"{directory}: no cleaner touches the metadata log, whose records have no keys")
    is_given = any(each.startswith("cleanup.policy=") for each in configs)
    noted = _noted_settings(directory, partition.topic, needed=not is_given)
    config = config_of(configs, {"cleanup.policy": "compact", **(noted or {})})
    is_told = is_given or noted is not None
    if not is_given and noted is not None and "cleanup.policy" not in noted:
        raise IllegalArgumentException(
            f"{directory}: the metadata log names no cleanup.policy of this topic, so its broker's decides, which is "
            "delete unless the broker's own file says compact: if it does, say so by --config cleanup.policy=compact"
        )
    if not config.compact:
        raise IllegalArgumentException("cleanup.policy is not compact: no cleaner touches this topic")
    checkpoint = directory.parent / OFFSET_CHECKPOINT_FILE
    if map_memory is None:
        map_memory = CleanerConfig.of({}).dedupe_buffer_size
    if not (dry_run or as_json or yes):
        ask(f"Compact {directory}?", directory)
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms

    def clean_in(place: Path) -> CleaningRound:
        size = sum(file.stat().st_size for file in place.glob("*.log"))
        with naming(place), progress_bar(f"clean {directory.name}", 2 * size) as advance:
            return clean_once(place, config, ManualTime(now_ms), arguments, limits, advance)

    with ended_by_signals():
        with taken(directory, in_place=not dry_run, follow_links=follow_links):
            cleaned = _checkpointed(checkpoint) if is_there(checkpoint) else None
            if first_dirty_offset is None and cleaned is not None:
                first_dirty_offset = cleaned.get(partition)
            replicated = directory.parent / HIGH_WATERMARK_CHECKPOINT_FILE
            if high_watermark is None and is_there(replicated):
                high_watermark = _checkpointed(replicated).get(partition)
            limits = Limits(first_dirty_offset, high_watermark, map_memory)
            arguments = known_of(directory.parent, partition)
            if not dry_run:
                _require_writable(directory, with_checkpoint=cleaned is not None)
                if cleaned is not None:
                    require_storable(partition)
                require_replaceable(checkpoint, follow_links=follow_links)
            with (
                made_ready(directory, config, now_ms, arguments, follow_links=follow_links, dry_run=True) as copy,
                _told_of(directory, copy),
            ):
                if not even_damaged:
                    require_sound_batches(copy)
                done = clean_in(copy)
            if not is_told:
                _require_keys(directory, done)
            if not dry_run:
                ready = made_ready(
                    directory,
                    config,
                    now_ms,
                    arguments,
                    follow_links=follow_links,
                    dry_run=False,
                    staying=[log_file(directory, base_offset).name for base_offset, _ in done.after],
                    noted={OFFSET_CHECKPOINT_FILE: done.next_dirty_offset},
                )
                with ready as place, silence():
                    require_room(place, sum(size for _, size in done.after), config.max_index_size)
                    require_descriptors(place, _DESCRIPTORS_PER_SEGMENT * (len(done.before) + len(done.after)))
                    done = clean_in(place)
                    if cleaned is not None:
                        _note(checkpoint, cleaned, partition, done.next_dirty_offset)
        with nullcontext() if dry_run else report_of_what_is_done(directory):
            if as_json:
                click.echo(json.dumps(_as_json(partition, done)))
                return
            for line in _report(directory, done, dry_run=dry_run):
                tell(line)


def _checkpointed(file: Path) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint file. Raises what `read_checkpoint` raises, with the file's name."""
    try:
        return read_checkpoint(file)
    except (KafkaException, NumberFormatException) as error:
        raise type(error)(f"{file}: {error}") from error


def _noted_settings(directory: Path, topic: str, *, needed: bool) -> dict[str, object] | None:
    """What the metadata log beside it says of the topic; None where that cannot be read and is not `needed`.

    Raises what `cluster_settings_in` raises.
    """
    try:
        cluster = cluster_settings_in(directory.parent)
        return None if cluster is None else cluster.of_topic(topic, node_id_in(directory.parent))
    except TOLD:
        if needed:
            raise
        return None


def _require_keys(directory: Path, done: CleaningRound) -> None:
    """Raises IllegalArgumentException if records without keys would go, and nobody says that the topic is compacted."""
    if without := done.stats.invalid_messages_read:
        raise IllegalArgumentException(
            f"{directory}: the cleaner would take away {without} records that have no key. If the topic's "
            "cleanup.policy is compact, say so by --config cleanup.policy=compact"
        )


def _require_writable(directory: Path, *, with_checkpoint: bool) -> None:
    """Raises OSError when no file can be made in the directory, or beside it in the log directory."""
    for place in (directory, directory.parent)[: 1 + with_checkpoint]:
        require_room(place, 0)


@contextmanager
def _told_of(directory: Path, copy: Path) -> Iterator[None]:
    """Report what goes wrong with the copy under the directory's own name. Raises SystemExit."""
    try:
        yield
    except TOLD as error:
        tell(describe(error).replace(str(copy), str(directory)), err=True)
        sys.exit(1)


def _note(checkpoint: Path, cleaned: dict[TopicPartition, int], partition: TopicPartition, offset: int) -> None:
    """Replace the checkpoint, its lines in Kafka's order. Kafka: `LogCleanerManager.updateCheckpoints`."""
    current: JavaHashMap[TopicPartition, int] = JavaHashMap()
    for each, cleaned_to in cleaned.items():
        current[each] = cleaned_to
    updated = JavaHashMap.copy_of(current)
    updated[partition] = offset
    OffsetCheckpointFile(checkpoint).write(dict(updated.items()))


def _as_json(partition: TopicPartition, done: CleaningRound) -> dict:
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "high_watermark": done.high_watermark,
        "first_dirty_offset": done.first_dirty_offset,
        "first_uncleanable_offset": done.first_uncleanable_offset,
        "next_dirty_offset": done.next_dirty_offset,
        **{name: getattr(done.stats, name) for name in _COUNTED},
        "segments": done.after,
    }


def _report(directory: Path, done: CleaningRound, *, dry_run: bool) -> list[str]:
    stats = done.stats
    before, after = (sum(size for _, size in segments) for segments in (done.before, done.after))
    saved = f"{before - after} of {before} bytes" + (f" ({1 - after / before:.1%})" if before else "")
    return [
        f"{directory}: one round of the cleaner" + (", on a copy" if dry_run else ""),
        f"  high watermark     {done.high_watermark}",
        f"  dirty              from {done.first_dirty_offset} up to {done.first_uncleanable_offset}",
        f"  next round         from {done.next_dirty_offset}",
        f"  offset map         {stats.map_messages_read} messages ({stats.map_bytes_read} bytes) read, "
        f"{stats.buffer_utilization:.1%} full",
        f"  read               {stats.messages_read} messages ({stats.bytes_read} bytes)",
        f"  written            {stats.messages_written} messages ({stats.bytes_written} bytes)",
        f"  without a key      {stats.invalid_messages_read} messages",
        "  segments           " + ", ".join(f"{base} ({size} bytes)" for base, size in done.after),
        f"  {'would be saved' if dry_run else 'saved':18} {saved}",
    ]
