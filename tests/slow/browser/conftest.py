"""A real browser for the tests of what readers see."""

import os
import shutil

import pytest


def chromium_path():
    """The system's Chromium; its absence fails the tests in CI and skips them elsewhere."""
    found = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if found is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no Chromium on this machine")
    return found


@pytest.fixture(scope="module")
def chromium():
    """A headless browser."""
    from playwright.sync_api import sync_playwright

    path = chromium_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
