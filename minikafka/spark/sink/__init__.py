"""Tables become Kafka's log directories: `write_log_dir`, and the writer of the data source `minikafka` below it.

Read `write_log_dir` first: it says what is written, and how rows are shared out and sorted (`partitioner`). Then the
writer: `sink_options`, `log_dir_writer` (what Spark calls where), `partition_writer` and `row_columns` (a task writes a
partition). Last, why nobody sees half a write: `staged_write`, `obstacles`, `log_as_it_stands` and `write_mark`.
"""
