"""Three witnesses of one workload: minikafka, Spark (from the workload alone), and Apache Kafka; and where they agree.

    w = Workload.parse("append_as_leader [3x100]")
    agree(run(w, minikafka_log), spark_expected(w))

Names are imported when first used, so that a workload can be read on a machine with neither Spark nor a JVM.
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
