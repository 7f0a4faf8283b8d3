"""Jobs: questions about whole log directories that Spark answers in parallel, without a broker.

Each job is a module with one public function of its name, from tables of the data source to a table, and a subcommand
of `minikafka spark`. Read `byte_ranges` first (how work is spread), then `transactions` for a job as it should be;
`registry` lists them all. The command line is in the room `cli`: `job_session` finds or starts the Spark that it uses,
`travelling_code` brings minikafka to that one's workers, `result_output` prints and stores what a job answers.

What a job's workers do has modules of its own where it is more than a page: `record_profile` with `histogram`,
`key_sketch` and `earlier_timestamps` for `profile`; `segment_facts` for `retention`; `log_to_compact` and
`latest_of_keys` for `compaction`; `unread_records` for `lag`. `settings_beside` tells workers of a topic's settings.

What a worker needs. Python of the driver's version (major and minor), and, importable there, pyspark's own needs
(pyarrow 18 or later, pandas) and those of minikafka: numpy 2, crc32c, cramjam, pyzstd, zstandard, xxhash and numba.
minikafka itself travels with the job, as a zip, to a cluster (`--master spark://…`) and through Spark Connect
(`--remote sc://…`); with a local master the workers have it anyway. Paths are opened by the workers, and by the driver
(or the Connect server) for planning: they must name the same files everywhere, as on a shared file system. A bucket is
the same everywhere by itself; the settings that lead to it must then stand in the workers' environment, because a row
of `ranges` carries no secrets.

What 100 TB on 100 machines take, on paper: 1 TB each, 16 cores, and disks that give 1 GB/s. One core of the machine
that we measured on did this, in MB/s of the files:

| | 100 B records | 1 KB records |
|---|---|---|
| headers of batches, and their checksums | 4,700 | 3,900 |
| decode to Arrow without values, not compressed | 1,600 | 2,900 |
| decode to Arrow with values, not compressed | 1,000 | 1,700 |
| decode to Arrow with values, zstd to a quarter | 120 | 130 |
| `export` (with values, snappy) | 210 | 320 |

- The disk is the limit wherever records are not compressed: 1 TB at 1 GB/s is 17 minutes, whatever is asked, and 16
  cores could decode ten times as much. Questions that the tables `segments` and `index` answer read next to nothing.
- Decoding is close behind for zstd: 16 cores take in 2 GB/s of the files, that is 8 GB/s of records, twice as much as
  the disk gives. With slower cores or faster disks it comes first; so it does in `export`, which compresses again.
- Rows that cross into Spark's JVM cost some 0.4 µs each in Python and in Java: 35 billion records of 100 B in 1 TB of
  zstd are 15 minutes of 16 cores on top. What a job adds up in the worker does not cross.
- A shuffle of whole records is the worst of all: 4 TB through a machine's 10 Gbit/s take an hour, and the shuffle's
  files as much again on the disk. A job shuffles some kilobytes a task instead: 800,000 tasks of 128 MB give a few GB.
- Planning is one process: 10,000 segments took 1.3 s, or 4.6 s where a starting timestamp makes it look into each time
  index, with 0.3 GB of memory and 110 bytes a segment in the tasks; 13 to 46 s for 100,000 segments of 1 GB. A task
  costs Spark some 30 ms, so `maxBytesPerTask=1073741824` is the better choice there: 1,000 tasks a machine.

Nothing but `job_session` needs a driver of its own: jobs have only what Spark Connect has, too.
"""
