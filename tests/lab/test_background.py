"""What a notebook does while its reader reads, and what a cell says that waits for it."""

import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest
from IPython.core import getipython

from minikafka.lab.course.lesson_kernel import run_in_a_kernel
from minikafka.lab.stage import background
from tests.notebooks.outputs import LIVE_WIDGET, shown

BEGIN = """
import threading, time
from minikafka.lab.stage import background
released = threading.Event()
background.while_the_reader_reads(lambda: released.wait(60))
"""
WAIT = """
print("before")
threading.Timer({seconds}, released.set).start()
with background.told_while_starting():
    with background.told_while_starting():
        released.wait(60)
"after"
"""
TALK = """
import sys
background.while_the_reader_reads(lambda: print("told"), lambda: print("warned", file=sys.stderr))
time.sleep(0.5)
"""
FAIL = """
def fail():
    raise ValueError("no Java")
background.while_the_reader_reads(fail)
"""


def outputs_of(directory, *sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    run_in_a_kernel(nbformat.v4.new_notebook(cells=cells), directory)
    return [cell.outputs for cell in cells]


@pytest.mark.slow
def test_a_cell_that_waits_says_so_and_nothing_of_it_stays(tmp_path):
    _, long, soon = outputs_of(tmp_path, BEGIN, WAIT.format(seconds=1.5), WAIT.format(seconds=0.1))
    assert shown(long) == shown(soon) == [("stdout", "before\n"), ("text/plain", "'after'")]
    assert [output.data for output in long if output.output_type == "display_data"] == [{}]  # it was said, and has gone
    assert not [output for output in soon if output.output_type == "display_data"]
    assert LIVE_WIDGET not in str(long)


SAYS = """
from minikafka.jvm import kafka_jars
from minikafka.witness.kafka import scala_objects
kafka_jars.cached_classpath = lambda part: []
scala_objects.to_compile = lambda: {to_compile}
background._Line.clear = lambda line: None
background._doing.append(threading.main_thread())
with background.told_while_starting():
    time.sleep(1.5)
import ipywidgets
str(ipywidgets.Widget.get_manager_state())
"""
HOW_LONG = {
    "[]": "Spark and Apache Kafka, which are starting: about 10 seconds",
    "['KafkaReplicas']": "Spark and Apache Kafka, which start on this machine for the first time: a minute or longer",
}


@pytest.mark.slow
@pytest.mark.parametrize("to_compile", HOW_LONG)
def test_the_line_names_what_is_waited_for_and_how_long(tmp_path, to_compile):
    *_, says = outputs_of(tmp_path, BEGIN, SAYS.format(to_compile=to_compile))
    assert HOW_LONG[to_compile] in says[-1].data["text/plain"]


@pytest.mark.slow
def test_what_fails_or_prints_while_the_reader_reads_shows_in_no_cell(tmp_path):
    assert outputs_of(tmp_path, BEGIN, FAIL, "time.sleep(0.3)", TALK) == [[], [], [], []]


TWO_IMPORTS = """
import sys, threading, time
from minikafka.lab.stage import background

background._in_a_notebook = lambda: True
begun, failed = threading.Event(), []

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("pyspark."):
            begun.set()
            time.sleep(0.02)

def run(statement):
    try:
        exec(statement)
    except Exception as error:
        failed.append(error)
    begun.set()

def spark():
    run("from pyspark import SparkContext")

def other():
    begun.wait()
    run("from pyspark.sql import Column")

sys.meta_path.insert(0, Slow())
{both}
print(failed)
"""
WHILE_SOMEBODY_READS = """
background.while_the_reader_reads(spark)
other()
for thread in background._doing:
    thread.join()
"""
AS_WITNESSES = """
from minikafka.lab.stage.recorded_answers import three_answers
three_answers("which", "none", dict, spark, other)
"""


@pytest.mark.slow
@pytest.mark.parametrize("both", [WHILE_SOMEBODY_READS, AS_WITNESSES], ids=["beside a cell", "as two witnesses"])
def test_two_threads_may_need_spark_at_the_same_time(both):
    program = TWO_IMPORTS.replace("{both}", both)
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_outside_a_notebook_nothing_is_begun_and_nothing_said():
    from minikafka.lab.stage import background

    begun = []
    background.while_the_reader_reads(lambda: begun.append(1))
    with background.told_while_starting():
        pass
    assert not begun and not background._doing


def test_what_is_told_beside_a_cell_is_told_once_for_each_cell(monkeypatch):
    shown, cell = [], SimpleNamespace(execution_count=1)
    monkeypatch.setattr(background, "_in_a_notebook", lambda: True)
    monkeypatch.setattr(background._Line, "say", lambda line, words: shown.append((cell.execution_count, words)))
    monkeypatch.setattr(getipython, "get_ipython", lambda: cell)
    for words in ("recorded", "recorded", "alone", "recorded"):
        background.told_beside(words)
    cell.execution_count = 2
    background.told_beside("recorded")
    assert shown == [(1, "recorded"), (1, "alone"), (2, "recorded")]
