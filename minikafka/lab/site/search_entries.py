"""What the site's search looks through: one entry for each section of each page."""

import json
from collections.abc import Sequence

from minikafka.lab.site.page import Page

_MOST_WORDS = 400
"""Of one section; what the search shows and finds is the beginning of a long one."""


def search_script(pages: Sequence[Page]) -> str:
    """A script that sets `window.MINIKAFKA_SEARCH`: [page, anchor, page's title, heading, words] for each section.

    A script and not a file of data, because a page that was opened from a disk may load the one and not the other.
    """
    entries = [
        [page.name, heading.anchor, page.title, heading.words, " ".join(words.split()[:_MOST_WORDS])]
        for page in pages
        for heading, words in page.sections
    ]
    # "</script>" in a text must not end the script.
    data = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return f"window.MINIKAFKA_SEARCH = {data};\n"
