"""Jobs: questions about whole log directories that Spark answers in parallel, without a broker.

Each job is a module with one public function of its name, from tables of the data source to a table, and a subcommand
of `minikafka spark`. Read `byte_ranges` first (how work is spread), then `transactions` for a job as it should be;
`registry` lists them all. `command` is the command line: `job_session` finds or starts the Spark that it uses,
`travelling_code` brings minikafka to that one's workers, `result_output` prints and stores what a job answers.

What a worker needs. Python of the driver's version (major and minor), and, importable there, pyspark's own needs
(pyarrow 18 or later, pandas) and those of minikafka: numpy 2, crc32c, cramjam, lz4, zstandard, xxhash and numba.
minikafka itself travels with the job, as a zip, to a cluster (`--master spark://…`) and through Spark Connect
(`--remote sc://…`); with a local master the workers have it anyway. Paths are opened by the workers, and by the driver
(or the Connect server) for planning: they must name the same files everywhere, as on a shared file system. A bucket is
the same everywhere by itself; the settings that lead to it must then stand in the workers' environment, because a row
of `ranges` carries no secrets.

Nothing but `job_session` needs a driver of its own: jobs have only what Spark Connect has, too.
"""
