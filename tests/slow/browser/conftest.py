"""A real browser for the tests of what readers see."""

import shutil

import pytest

from tests.absent import absent


def chromium_path():
    """The system's Chromium; its absence fails the tests in CI and skips them elsewhere."""
    found = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if found is None:
        absent("no Chromium on this machine")
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
