"""Kafka's dump tool inside a JVM that runs already, so that a comparison takes milliseconds."""

from typing import NamedTuple


class Dump(NamedTuple):
    """What a run printed, and whether it ended well."""

    stdout: bytes
    stderr: str
    failed: bool


class KafkasDump:
    """Kafka's `DumpLogSegments.main`, its standard streams caught."""

    def __init__(self, kafka):
        self._jvm = kafka.jvm

    def __call__(self, *arguments: str) -> Dump:
        system = self._jvm.java.lang.System
        streams = [self._jvm.java.io.ByteArrayOutputStream() for _ in range(2)]
        before = system.out, system.err
        printers = [self._jvm.java.io.PrintStream(stream, True, "UTF-8") for stream in streams]
        system.setOut(printers[0])
        system.setErr(printers[1])
        failed = False
        try:
            self._jvm.org.apache.kafka.tools.DumpLogSegments.main(_string_array(self._jvm, arguments))
        except Exception:
            failed = True
        finally:
            system.setOut(before[0])
            system.setErr(before[1])
        out, err = (bytes(stream.toByteArray()) for stream in streams)
        lines = err.decode("utf-8", "replace").splitlines(keepends=True)
        return Dump(out, "".join(line for line in lines if not line.startswith("SLF4J: ")), failed)


def _string_array(jvm, arguments):
    array = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName("java.lang.String"), len(arguments))
    for index, argument in enumerate(arguments):
        jvm.java.lang.reflect.Array.set(array, index, argument)
    return array
