"""What a test needs and this machine lacks."""

import os
from typing import NoReturn

import pytest


def absent(why: str) -> NoReturn:
    """End the test: it fails in CI, where all must be there, and is skipped elsewhere."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
