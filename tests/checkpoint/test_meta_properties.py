"""meta.properties, and the properties files of Java in general, beside Java's and Kafka's own classes."""

import random

import pytest

from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME, MetaProperties
from minikafka.common.errors import IllegalArgumentException, KafkaException
from minikafka.common.java.java_properties import read_properties_file, write_properties_file

CLUSTER_ID, DIRECTORY_ID = "4L6g3nShT-eMCtK--X86sw", "eXW-IzKZRlOhENUCWRlvEQ"
PROPERTIES = "org.apache.kafka.metadata.properties."


@pytest.fixture
def file(tmp_path):
    return tmp_path / "meta.properties"


@pytest.mark.parametrize(
    "meta",
    [
        MetaProperties(CLUSTER_ID, 1, DIRECTORY_ID),
        MetaProperties(CLUSTER_ID, 7),
        MetaProperties(CLUSTER_ID, 7, version=0),
        MetaProperties(None, None, version=0),
    ],
)
def test_what_we_write_is_read_by_kafka_and_back_in_kafkas_order(kafka, file, meta):
    meta.write(file, 1_700_000_000_000)
    assert MetaProperties.read(file) == meta
    utils = kafka.find_class(PROPERTIES + "PropertiesUtils")
    theirs = kafka.find_class(PROPERTIES + "MetaProperties$Builder")(utils.readPropertiesFile(str(file))).build()
    assert theirs.version().number() == meta.version
    assert theirs.clusterId().orElse(None) == meta.cluster_id
    assert theirs.nodeId().orElse(-9) == (-9 if meta.node_id is None else meta.node_id)
    ours = file.read_text().splitlines()
    utils.writePropertiesFile(theirs.toProperties(), str(file), True)
    lines = file.read_text().splitlines()
    assert lines[0] == ours[0] == "#" and lines[1][0] == ours[1][0] == "#"
    assert lines[2:] == ours[2:]
    assert MetaProperties.read(file) == meta


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("version=2\n", "Unknown meta.properties version number 2"),
        ("version=x\n", "Unable to read version"),
        ("version=1\nnode.id=1\n", "cluster.id was not found"),
        ("version=1\ncluster.id=x\n", "Failed to find node.id"),
        ("version=1\ncluster.id=x\nnode.id=y\n", "Unable to read node.id"),
        ("version=1\ncluster.id=x\nnode.id=1\ndirectory.id=z\n", "meta.properties"),
        ("version=1\ncluster.id=x\nnode.id=1 \n", "Unable to read node.id"),
        ("version=0 \n", None),
        ("", None),
    ],
)
def test_files_that_kafka_refuses(kafka, file, content, message):
    file.write_text(content)
    properties = kafka.find_class(PROPERTIES + "PropertiesUtils").readPropertiesFile(str(file))

    def theirs():
        return kafka.find_class(PROPERTIES + "MetaProperties$Builder")(properties).build()

    if message is None:
        assert MetaProperties.read(file).version == theirs().version().number() == 0
        return
    with pytest.raises(KafkaException, match=message):
        MetaProperties.read(file)
    with pytest.raises(Exception, match="RuntimeException"):
        theirs()


@pytest.mark.parametrize("seed", range(3))
def test_properties_files_are_read_and_written_as_by_java(kafka, file, seed):
    rng = random.Random(seed)
    pieces = [
        "a",
        "b1",
        " ",
        "\t",
        "=",
        ":",
        "#",
        "!",
        "\\",
        "\\\\",
        "\\n",
        "\\u0041",
        "\n",
        "\r\n",
        "\\\n",
        "\xe9",
        "\f",
        "x=y",
    ]
    for _ in range(150):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(12)))
        file.write_bytes(text.encode("latin-1"))
        java = kafka.jvm.java.util.Properties()
        java.load(kafka.jvm.java.io.StringReader(text))
        theirs = {str(entry.getKey()): str(entry.getValue()) for entry in java.entrySet()}
        ours = read_properties_file(file)
        for properties in (ours, theirs):
            properties.pop("", None)  # Java makes an empty key of a lone backslash at the end of the file
        java.remove("")
        assert ours == theirs, repr(text)
        write_properties_file(theirs, file, 0)
        writer = kafka.jvm.java.io.StringWriter()
        java.store(writer, "")
        assert sorted(file.read_text().split("\n")[2:]) == sorted(writer.toString().split("\n")[2:])


def test_a_malformed_unicode_escape_is_refused(file):
    file.write_bytes(b"a=\\u12x4\n")
    with pytest.raises(IllegalArgumentException, match="Malformed"):
        read_properties_file(file)


def test_a_new_directory_is_formatted_and_one_that_has_an_id_keeps_it(tmp_path):
    first, second = (MetaProperties("cluster", node, None) for node in (1, 2))
    first.format(tmp_path / "new" / "logs", 0)
    second.format(tmp_path / "new" / "logs", 0)
    assert MetaProperties.read(tmp_path / "new" / "logs" / META_PROPERTIES_NAME) == first
