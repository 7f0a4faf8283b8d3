"""A setting of the wrong kind is refused, with its name and its value."""

import pytest

from minikafka.common.config_def import Type, convert_to_string, parse_type, split_list
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


@pytest.mark.parametrize(
    ("text", "parts"),
    [("a,b", ["a", "b"]), ("", [""]), (",", []), ("a,,", ["a"]), (",a", ["", "a"]), (",,", []), ("a", ["a"])],
)
def test_texts_are_split_as_by_java(text, parts):
    assert split_list(text) == parts


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, None), (True, "true"), (["a", "b"], "a,b"), ([], ""), (1e7, "1.0E7"), (0.5, "0.5"), (-1, "-1"), ("x", "x")],
)
def test_values_as_texts_that_are_parsed_to_them_again(value, text):
    assert convert_to_string(value) == text
