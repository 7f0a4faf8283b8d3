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


def mask_metadata(body):
    """Kafka names any alive broker as the controller, for which it throws dice."""
    body.controller_id = 0


def mask_configs(body):
    """The log directories of the two sides are different ones."""
    for result in body.results:
        for entry in result.configs:
            for told in (entry, *entry.synonyms):
                told.value = None if told.value is None else told.value.replace("/kafka/", "/ours/")


MAKERS = {ApiKeys.DESCRIBE_CONFIGS: describe_configs}
MASKED = {ApiKeys.METADATA: mask_metadata, ApiKeys.DESCRIBE_CONFIGS: mask_configs}
