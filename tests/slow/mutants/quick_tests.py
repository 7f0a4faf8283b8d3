"""A plugin of pytest: the tests that tell a mutant soonest, first; those that wait for Spark only when they are named.

A test without a JVM takes milliseconds, one beside Kafka a second for the JVM's start.
"""


def pytest_addoption(parser):
    parser.addoption("--with-spark", action="store_true", help="tests that need a Spark session too")


def pytest_collection_modifyitems(config, items):
    spark = [item for item in items if "spark" in item.fixturenames or item.get_closest_marker("spark")]
    left_out = [] if config.getoption("--with-spark") else spark
    items[:] = sorted((item for item in items if item not in left_out), key=lambda item: "kafka" in item.fixturenames)
    config.hook.pytest_deselected(items=left_out)
