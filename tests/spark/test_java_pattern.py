"""`subscribePattern`: a pattern finds what it finds in Java, or is refused."""

import random

import pytest

from minikafka.common.errors import IllegalArgumentException
from minikafka.spark.source.java_pattern import java_pattern

TOPICS = ["a", "b", "ab", "abc", "a.b", "a-b", "orders", "Orders_2", "x11", "aab", "-", "_", "1", "zz", "A.B-c_9", ".9"]
PIECES = [
    *"aabbczA19._-^$|.()*+?{}[]&,: =!<>",
    *("[a-c]", "[^b]", "[a-c&&[^b]]", "[ab&&b]", "[[ab]c]", "[]a]", "[^]a]", "[a-]", "[-a]", "[a&b]", "[a&]", r"[\d_]"),
    *(r"[\-.]", "[a-c-x]", "[+--]", r"[\x61-c]", "[a^]", "[$]", "[b-a]", r"\d", r"\w", r"\W", r"\b", r"\B"),
    *(r"\A", r"\Z"),
    *(r"\z", r"\G", r"\Q.\E", r"\Qa.b", r"\E", r"\.", r"\-", r"\x61", r"\u0062", r"\1", r"\10", r"\0141", r"\h", r"\_"),
    *(r"\p{Alpha}", r"\k<n>", "(?<n>a", "(?<n_1>a", "(?P<n>a)", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"),
    *("(?i)", "(?i:"),
    *("(?-i:", "(?x)", "(?u)", "(?#c)", "{2}", "{1,}", "{,2}", "{0,2}", "*+", "??", "++", "a{0}", "(a)", "(b|a)", "()"),
]  # fmt: skip


def found_by(find) -> str:
    return "".join("01"[bool(find(topic))] for topic in TOPICS)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("^a", "a ab abc a.b a-b aab"),
        (r"^a\.b$", "a.b"),
        (r"\Aa[b-]", "ab abc a-b"),
        ("^[^a-zA-Z]+$", "- _ 1 .9"),
        ("(?i)^(?<first>o)r", "orders Orders_2"),
        (r"\Q.\E", "a.b A.B-c_9 .9"),
        (r"b\z|(?>z)\Z", "b ab a.b a-b aab zz"),
        (r"^(.)\1$", "zz"),
        ("^x1{2,}+$", "x11"),
    ],
)
def test_what_both_have_finds_the_same(pattern, names):
    assert [topic for topic in TOPICS if java_pattern(pattern).search(topic)] == names.split()


@pytest.mark.parametrize(
    "pattern",
    [
        "[a-c&&[^b]]", "[[ab]c]", "[]a]", "a{,2}", "(?P<n>a)", "(?<n_1>a)", "(?x)a", "a(?i)b", r"\p{Alpha}", r"(a)\10",
        "(?#c)a", "a{", "[", "(", "*", "a\\", r"\0141", "(?u)a", "a{4294967296}", "(" * 5000,
    ],
)  # fmt: skip
def test_what_python_has_not_or_reads_otherwise_is_refused(pattern):
    with pytest.raises(IllegalArgumentException, match="subscribePattern=.* is no regular expression"):
        java_pattern(pattern)


@pytest.mark.kafka
def test_drawn_patterns_find_what_they_find_in_java(kafka):
    draw, java, taken = random.Random(7), kafka.jvm.java.util, 0
    for _ in range(1500):
        pattern = "".join(draw.choice(PIECES) for _ in range(draw.randint(1, 5)))
        pattern += ")" * (pattern.count("(") - pattern.count(")"))
        try:
            ours = found_by(java_pattern(pattern).search)
        except IllegalArgumentException:
            continue
        taken += 1
        predicate = java.regex.Pattern.compile(pattern).asPredicate()
        assert ours == found_by(predicate.test), pattern
    assert taken > 300
