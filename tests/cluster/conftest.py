import pytest

from tests.cluster.stand import Stand


@pytest.fixture
def stand(tmp_path, silent):
    """`stand(**settings)` makes a broker's partition; the settings are the topic's."""
    made = []

    def make(*names, **config):
        settings = {name.replace("__", "."): value for name, value in config.items()}
        made.append(Stand(tmp_path, settings, names or ("a",)))
        return made[-1]

    yield make
    for one in made:
        one.close()
