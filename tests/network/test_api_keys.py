"""The numbers of Kafka's APIs."""

from minikafka.network.api_keys import ApiKeys


def test_every_number_up_to_the_last_is_that_of_one_api():
    """Of two names with one number Python makes one: then the other's requests would be of no known API."""
    assert [api.value for api in ApiKeys] == list(range(len(ApiKeys.__members__)))
