"""Three witnesses of one workload: minikafka, Spark (from the workload alone), and Apache Kafka; and where they agree.

    w = Workload.parse("append_as_leader [3x100]")
    agree(run(w, minikafka_log), spark_expected(w))

Read `workload` first, with `operations` and `batch` (what its lines say), then `runner` (does them to a log, whose
followers are in `leading_partition`) and `observation` (what is seen after each). The witnesses: `runner` itself
opens minikafka's log; `kafka_log`, above `kafka_jvm`, has the runner's names for Kafka's; `expected`, with `views`,
`queries` and `fold`, asks Spark, and `survivors` who is left after a cleaning. `agreement` compares them,
`directory_diff` their directories, and `differential` draws workloads (`workload_drawer`) until two of them differ.

For a whole log directory there are `log_dir_workload`, `log_dir_drawer`, `log_dir_runner`, `two_log_managers`,
`kafka_log_manager` and `log_dir_expected`; for crashes `disk_effects`, `simulated_disk` and `stopped_worlds`;
`kafka_broker` is a whole broker, `kafka_tools` are its tools.

For brokers that replicate, read `replica_workload`, then `replica_runner`, which is their controller too
(`scripted_controller`). It does the same to `minikafka_cluster` and to `kafka_cluster`: Kafka's own KafkaApis,
ReplicaManager, Partition and followers, several brokers in one JVM, driven by `KafkaReplicas.scala`.
`replica_drawer` draws workloads, `replica_differential` compares, without the ids in names of directories
(`unique_ids`). The command lines of both differentials stand in `drawn_comparisons`.
`replica_expected` asks Spark: its DataFrames are in `replica_trace`, its fold is `replica_fold`, and
`replica_quantities` puts what brokers show into the same words.

Names are imported when they are first used, so that a workload can be read on a machine with neither Spark nor a JVM.
"""

from importlib import import_module

_HOMES = {
    "At": "offsets",
    "Batch": "batch",
    "Workload": "workload",
    "WorkloadError": "workload",
    "Observation": "observation",
    "Observations": "observation",
    "BLANK": "observation",
    "Runner": "runner",
    "run": "runner",
    "minikafka_log": "runner",
    "spark_expected": "expected",
    "QUERIES": "expected",
    "record_lives": "survivors",
    "agree": "agreement",
    "Agreement": "agreement",
    "Drawer": "workload_drawer",
    "draw_workload": "workload_drawer",
    "KafkaJvm": "kafka_jvm",
    "KafkaUnavailableError": "kafka_jvm",
    "KafkaLog": "kafka_log",
}

__all__ = list(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
