"""What administrators are told is what Kafka tells them, byte by byte but for what `MASKED` names."""

import pytest

from minikafka.common.config_resource import ConfigResourceType
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_class
from tests.broker.both_sides import TOPICS, BothSides
from tests.broker.drawn_admin_requests import MAKERS
from tests.broker.request_drawer import RequestDrawer

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture(scope="module")
def both(kafka, tmp_path_factory):
    both = BothSides(kafka, tmp_path_factory.mktemp("both"))
    yield both
    both.close()


DescribeConfigs = request_class(ApiKeys.DESCRIBE_CONFIGS)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
@pytest.mark.parametrize("synonyms", [False, True])
@pytest.mark.parametrize("broker_id", [0, 1])
def test_settings(both, version, synonyms, broker_id):
    owners = [(ConfigResourceType.TOPIC, name) for name in TOPICS]
    owners += [(ConfigResourceType.BROKER, name) for name in (str(broker_id), "")]
    owners += [(ConfigResourceType.GROUP, "g"), (ConfigResourceType.CLIENT_METRICS, "m")]
    for kind, name in owners:
        resource = DescribeConfigs.DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=None
        )
        body = DescribeConfigs(resources=[resource], include_synonyms=synonyms, include_documentation=version >= 3)
        (result,) = both.ask(broker_id, ApiKeys.DESCRIBE_CONFIGS, version, body).results
        assert result.error_code == 0
        assert len(result.configs) > {"BROKER": 300 if name else 0, "TOPIC": 30}.get(kind.name, 2)


@pytest.mark.parametrize("api", MAKERS, ids=lambda api: api.name)
def test_drawn_requests(both, api):
    drawer = RequestDrawer(api, both.ids)
    for number in range(40):
        if number % 4 == 0:
            both.handle(0, drawer.request(ApiKeys.PRODUCE))
            both.follow()
            both.compare()
        both.handle(drawer.draw.choice((0, 0, 1)), drawer.request(api))
        both.compare()
