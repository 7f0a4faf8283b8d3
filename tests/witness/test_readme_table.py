"""The table of witnesses in the README is what the three say."""

import re
from pathlib import Path

from minikafka.witness.kafka.kafka_log import kafka_log
from minikafka.witness.log.expect import spark_expected
from minikafka.witness.log.run import minikafka_log, run
from minikafka.witness.log.workload import Workload

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_three_witnesses_of_the_readme(kafka, spark, tmp_path):
    workload = Workload.parse(re.search(r"```text\n(.*?)```", README, re.DOTALL).group(1))
    said = [
        run(workload, minikafka_log, tmp_path / "minikafka" / "topic-0"),
        spark_expected(workload, spark),
        run(workload, kafka_log(kafka), tmp_path / "kafka" / "topic-0"),
    ]
    rows = re.findall(r"^\| (log end offset|high watermark|segments) \| (.*) \| (.*) \| (.*) \|$", README, re.MULTILINE)
    assert len(rows) == 3
    for quantity, *cells in rows:
        assert cells == [str(witness.column(quantity.replace(" ", "_"))[-1]) for witness in said], quantity
