"""Three witnesses of one workload: minikafka, Spark (from the workload alone), and Apache Kafka; and where they agree.

    w = Workload.parse("append_as_leader [3x100]")
    agree(run(w, minikafka_log, directory), spark_expected(w))

A workload is about one log (`log`), about all logs of a broker (`log_dir`), or about brokers that replicate
(`replicas`). Each of these rooms has the same modules, as far as it needs them:

- `workload`: its lines, as text and as objects; `draw` draws one from a seed;
- `run` does it to minikafka or to Kafka, and `observation` is what is seen after each line;
- `expect` asks Spark what must be seen, from the workload alone;
- `differ` draws workloads until two of the witnesses differ.

`kafka` has Apache Kafka itself, with minikafka's names: a log, a log manager, brokers, its tools. `agreement` compares
observations, `directory_diff` the bytes of two directories; `unordered_lists` names the lists of Kafka's answers whose
order says nothing; `drawn_comparisons` are the command lines of both `differ`. `spoken` is the language in which all of
them speak to a reader.

Names are imported when they are first used, so that a workload can be read on a machine with neither Spark nor a JVM.
"""

from importlib import import_module

_HOMES = {
    "At": "log.offsets",
    "Batch": "log.batch",
    "Workload": "log.workload",
    "WorkloadError": "log.workload",
    "Observation": "observation",
    "Observations": "observation",
    "BLANK": "observation",
    "Runner": "log.run",
    "run": "log.run",
    "minikafka_log": "log.run",
    "spark_expected": "log.expect",
    "QUERIES": "log.expect",
    "accepted_records": "log.survivors",
    "agree": "agreement",
    "Agreement": "agreement",
    "Drawer": "log.draw",
    "draw_workload": "log.draw",
    "KafkaJvm": ".jvm.kafka_jvm",
    "KafkaUnavailableError": ".jvm.kafka_jvm",
    "KafkaLog": "kafka.kafka_log",
}

__all__ = list(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
