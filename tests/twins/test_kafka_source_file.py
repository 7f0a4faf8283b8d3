"""What Kafka's source files declare, in both languages."""

import pytest

from minikafka.twins.kafka_source_file import normalised, parse

JAVA = """package org.apache.kafka.a;

public class Log<T> extends Base<T> implements Closeable, Runnable {
    public static final int ONE = 1, TWO = 2;
    private final Map<String, Long> ends;

    public Log(final Map<String, Long> ends, int... sizes) { this.ends = ends; }

    @Override
    public void close() { run(1); }  // not here: run(2)

    <K> Optional<K> run(org.apache.kafka.b.Uuid id, byte[] data) throws IOException { return null; }

    public record Point(int x, long y) { public Point { check(x); } }

    enum Kind { A, B { int size() { return 2; } }; int size() { return 1; } }

    interface Listener { void onChange(long offset); int LIMIT = 3; }
}
"""
SCALA = """package kafka.a

class Log(val dir: File, config: LogConfig, private var end: Long) extends Base(dir) with Logging {
  @volatile private var start: Long = 0L

  def isEmpty: Boolean = start == end

  private[log] def read(offset: Long,
                        isolation: Option[FetchIsolation] = None): Int = {
    if (offset > 0) {
      def limit(at: Long): Int = 1
      limit(offset)
    } else 0
  }

  case class Bounds(from: Long, to: Long)
}

object Log {
  val Unknown = -1L
  def apply(dir: File): Log = new Log(dir, null, 0L)
}
"""


def declared(source: str, file: str) -> dict[str, list[str]]:
    return {
        f"{each.kind} {each.full_name}": [("+" if m.public else "-") + m.signature for m in each.members]
        for each in parse(source, file)
    }


def test_java():
    assert declared(JAVA, "Log.java") == {
        "class org.apache.kafka.a.Log": [
            *("+ONE", "+TWO", "-ends", "+Log(Map, int...)", "+close()", "-run(Uuid, byte[])"),
        ],
        "record org.apache.kafka.a.Log.Point": ["+Point(int, long)", "+x()", "+y()", "+Point()"],
        "enum org.apache.kafka.a.Log.Kind": ["+A", "+B", "-size()"],
        "interface org.apache.kafka.a.Log.Listener": ["+onChange(long)", "+LIMIT"],
    }
    log = parse(JAVA, "Log.java")[0]
    assert log.parents == ("Base", "Closeable", "Runnable") and log.line == 3
    close = next(member for member in log.members if member.name == "close")
    assert (close.line, close.text) == (10, "@Override public void close(){run(1);}")


def test_scala():
    assert declared(SCALA, "Log.scala") == {
        "class kafka.a.Log": [
            *("+Log(File, LogConfig, Long)", "+dir", "-config", "-end", "-start", "+isEmpty()"),
            *("-read(Long, Option)", "-limit(Long)"),
        ],
        "class kafka.a.Log.Bounds": ["+Bounds(Long, Long)", "+from", "+to"],
        "object kafka.a.Log": ["+Unknown", "+apply(File)"],
    }
    assert parse(SCALA, "Log.scala")[0].parents == ("Base", "Logging")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("int a = 1; // one", "int  a=1;"),
        ("f(a,\n   b) /* c */ {", "f(a, b) {"),
        ('print("a  // b")', 'print("a  // b")'),
    ],
)
def test_layout_and_comments_do_not_count(one, other):
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(("one", "other"), [('"a b"', '"ab"'), ("new X", "newX"), ("'\"' + a", "'\"'+b")])
def test_what_is_written_does(one, other):
    assert normalised(one) != normalised(other)


def test_a_file_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"^Log\.java: not a source file"):
        parse("public class {{{", "Log.java")
