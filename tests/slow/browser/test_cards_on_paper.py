"""The printed cards fit their sheets. If one part is wider than its sheet, Chromium prints every sheet smaller."""

import math
import re
import zlib

import pytest

from minikafka.lab.teaching.build import TEACHING

PRINTABLE = 188 / 25.4 * 96
"""The width of a sheet without its margins, in pixels."""

POINTS_A_PIXEL = 72 / 96


@pytest.fixture(scope="module")
def cards(chromium):
    page = chromium.new_page(viewport={"width": int(PRINTABLE), "height": 1000})
    page.goto((TEACHING / "cards.html").as_uri())
    yield page
    page.close()


def points_a_pixel(pdf):
    """By how much Chromium multiplied the page's sizes, from the first two matrices of the first page."""
    [first, *_] = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    matrices = re.findall(rb"([\d.]+) 0 0 -?[\d.]+ [\d.]+ [\d.]+ cm", zlib.decompress(first))
    return math.prod(map(float, matrices[:2]))


def test_letters_keep_their_size_on_paper(cards):
    pdf = cards.pdf(prefer_css_page_size=True, print_background=True)
    assert points_a_pixel(pdf) == pytest.approx(POINTS_A_PIXEL, abs=0.01)


def test_nothing_is_wider_than_a_sheet(cards):
    cards.emulate_media(media="print")
    edges = cards.evaluate(
        "() => [...document.querySelectorAll('body *')].map(e => [e.getBoundingClientRect().right, e.textContent])"
    )
    assert [text[:60] for right, text in edges if right > PRINTABLE + 1] == []
