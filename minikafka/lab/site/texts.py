"""The repository's texts that stand beside the lessons: what they are called on the site, and in which order."""

from pathlib import Path, PurePosixPath

from minikafka.lab.course.places import COURSE
from minikafka.lab.site.page import Page, page_of_markdown

_HOME = COURSE.parent
_TEXTS = (
    "notebooks/glossary.md",
    "teaching/cards.md",
    "docs/*.md",
    "docs/rooms/*.md",
    "benchmarks/README.md",
    *(f"teaching/{name}.md" for name in ("guide", "quiz", "invariants", "terms")),
)
"""The answers in `teaching/lessons` stay off the site, because learners read it."""


def pages_of_texts() -> list[Page]:
    """The pages of the glossary, the cards, the documentation and the teachers' texts, in this order."""
    return [_page(path) for pattern in _TEXTS for path in sorted(_HOME.glob(pattern))]


def is_listed(page: Page) -> bool:
    """Is the text named on the start page? A room is not, because the page Architecture names all of them."""
    return not page.source.startswith("docs/rooms/")


def _page(path: Path) -> Page:
    source = PurePosixPath(path.relative_to(_HOME))
    named = source.parent if source.name == "README.md" else source.with_suffix("")
    name = "-".join(part for part in named.parts if part != "notebooks")
    return page_of_markdown(name, path.read_text(encoding="utf-8"), str(source))
