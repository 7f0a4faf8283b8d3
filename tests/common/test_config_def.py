"""A setting of the wrong kind is refused, with its name and its value."""

import pytest

from minikafka.common.config_def import Type, parse_type
from minikafka.common.errors import ConfigException


@pytest.mark.parametrize(
    ("value", "config_type", "told"),
    [
        ("a", Type.INT, "Invalid value a for configuration n: Not a number of type INT"),
        ("3000000000", Type.INT, "Invalid value 3000000000 for configuration n: Not a number of type INT"),
        (3_000_000_000, Type.INT, "Invalid value 3000000000 for configuration n: Expected value to be a 32-bit"),
        (5, Type.STRING, "Invalid value 5 for configuration n: Expected value to be a string, but it was a int"),
        (True, Type.LONG, "Invalid value true for configuration n: Expected value to be a 64-bit integer"),
        ("yes", Type.BOOLEAN, "Invalid value yes for configuration n: Expected value to be either true or false"),
        (5, Type.LIST, "Invalid value 5 for configuration n: Expected a comma separated list"),
    ],
)
def test_a_value_of_another_type_is_refused(value, config_type, told):
    with pytest.raises(ConfigException) as refused:
        parse_type("n", value, config_type)
    assert str(refused.value).startswith(told)
