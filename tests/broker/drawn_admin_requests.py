"""Requests of administrators, drawn: what topics, brokers and directories are like; and what may differ in answers."""

from minikafka.common.config_resource import ConfigResourceType
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_class

SETTING_NAMES = (
    "retention.ms",
    "cleanup.policy",
    "log.retention.ms",
    "node.id",
    "no.such.setting",
    "log.flush.interval.ms",
)


def describe_configs(drawer, version):
    draw, make = drawer.draw, request_class(ApiKeys.DESCRIBE_CONFIGS)
    body = make(resources=[], include_synonyms=draw.random() < 0.5)
    body.include_documentation = version >= 3 and draw.random() < 0.3
    resources = [(ConfigResourceType.TOPIC, name) for name in drawer.topics()]
    resources += [(ConfigResourceType.BROKER, name) for name in draw.sample(["0", "1", "", "7", "x", "+1"], 2)]
    resources += [(ConfigResourceType.GROUP, draw.choice(("g", "")))] * draw.randrange(2)
    resources += [(ConfigResourceType.CLIENT_METRICS, draw.choice(("m", "")))] * draw.randrange(2)
    resources += [(ConfigResourceType.BROKER_LOGGER, draw.choice(("", "5", "x")))] * draw.randrange(2)
    resources += [(draw.choice((0, 3, 99)), "odd")] * (draw.random() < 0.05)
    for kind, name in draw.sample(resources, draw.randint(0, min(3, len(resources)))):
        keys = draw.choice((None, None, [], list(draw.sample(SETTING_NAMES, 3))))
        body.resources.append(
            make.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        )
    return body


def describe_log_dirs(drawer, version):
    make = request_class(ApiKeys.DESCRIBE_LOG_DIRS)
    if drawer.draw.random() < 0.3:
        return make(topics=None)
    names = drawer.topics()
    return make(topics=[make.DescribableLogDirTopic(topic=name, partitions=drawer.indexes()) for name in names])


def describe_cluster(drawer, version):
    draw, make = drawer.draw, request_class(ApiKeys.DESCRIBE_CLUSTER)
    body = make(include_cluster_authorized_operations=draw.random() < 0.5)
    if version >= 1:
        body.endpoint_type = draw.choice((1, 1, 1, 2, 3, 0, -1))
    if version >= 2:
        body.include_fenced_brokers = draw.random() < 0.5
    return body


def describe_producers(drawer, version):
    make = request_class(ApiKeys.DESCRIBE_PRODUCERS)
    names = drawer.topics()
    return make(topics=[make.TopicRequest(name=name, partition_indexes=drawer.indexes()) for name in names])


def describe_topic_partitions(drawer, version):
    draw, make = drawer.draw, request_class(ApiKeys.DESCRIBE_TOPIC_PARTITIONS)
    names = drawer.topics()
    body = make(topics=[make.TopicRequest(name=name) for name in names])
    body.response_partition_limit = draw.choice((2000, 5000, 1, 2, 3, 0, -1))
    if draw.random() < 0.5:
        name = draw.choice([*names, "t", "b"])
        body.cursor = make.Cursor(topic_name=name, partition_index=draw.choice((0, 0, 1, 2, 9, -1, 2**31 - 1)))
    return body


def list_config_resources(drawer, version):
    """Without the kinds for which the brokers of the witness have no managers: groups and client metrics."""
    draw, make = drawer.draw, request_class(ApiKeys.LIST_CONFIG_RESOURCES)
    kinds = (ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER, 0, 99)
    return make(resource_types=draw.sample(kinds, draw.choice((1, 1, 2, 3))))


def mask_metadata(body):
    """Kafka names any alive broker as the controller, for which it throws dice."""
    body.controller_id = 0


def mask_configs(body):
    """The log directories of the two sides are different ones; Kafka's texts about settings are not copied."""
    for result in body.results:
        for entry in result.configs:
            entry.documentation = None
            for told in (entry, *entry.synonyms):
                told.value = None if told.value is None else told.value.replace("/kafka/", "/ours/")


def mask_log_dirs(body):
    """Directories and free space are of the machine."""
    for result in body.results:
        result.log_dir = result.log_dir.replace("/kafka/", "/ours/")
        if result.total_bytes != -1:  # which older versions do not have
            assert 0 < result.usable_bytes < result.total_bytes
            result.usable_bytes, result.total_bytes = 1, 2


MAKERS = {
    ApiKeys.DESCRIBE_CONFIGS: describe_configs,
    ApiKeys.DESCRIBE_LOG_DIRS: describe_log_dirs,
    ApiKeys.DESCRIBE_CLUSTER: describe_cluster,
    ApiKeys.DESCRIBE_PRODUCERS: describe_producers,
    ApiKeys.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions,
    ApiKeys.LIST_CONFIG_RESOURCES: list_config_resources,
}
VERSIONS = {ApiKeys.LIST_CONFIG_RESOURCES: (1, 1)}  # version 0 asks for client metrics alone
MASKED = {
    ApiKeys.METADATA: mask_metadata,
    ApiKeys.DESCRIBE_CLUSTER: mask_metadata,
    ApiKeys.DESCRIBE_CONFIGS: mask_configs,
    ApiKeys.DESCRIBE_LOG_DIRS: mask_log_dirs,
}
