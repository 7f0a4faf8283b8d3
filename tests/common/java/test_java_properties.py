"""Files of settings as `java.util.Properties` reads and writes them; beside Java's own: tests/checkpoint."""

from minikafka.common.java.java_properties import read_properties_file, write_properties_file


def test_escapes_are_read(tmp_path):
    (tmp_path / "file").write_bytes(rb"""a\ key=\u0041\u00e9\tb\
        c\z
log.dirs : /tmp/\u006Bafka""")
    assert read_properties_file(tmp_path / "file") == {"a key": "Aé\tbcz", "log.dirs": "/tmp/kafka"}


def test_what_would_be_read_otherwise_is_escaped(tmp_path):
    properties = {"a key": " two words", "k=:#!": "a\\b\t\n\r\fc"}
    write_properties_file(properties, tmp_path / "file", 0)
    lines = (tmp_path / "file").read_text().splitlines()[2:]
    assert lines == ["a\\ key=\\ two words", "k\\=\\:\\#\\!=a\\\\b\\t\\n\\r\\fc"]
    assert read_properties_file(tmp_path / "file") == properties
