"""Which languages there are, and the one place where a lesson, a build or a page chooses one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module

from minikafka.lab.lesson_folders import parts
from minikafka.witness import spoken


@dataclass(frozen=True)
class Language:
    """A language other than English: the `folder` of its lessons, its `tag` (BCP 47), and its `own_name`."""

    folder: str
    tag: str
    own_name: str

    def catalogue(self) -> dict[str, str]:
        """English text → the same in this language."""
        catalogue = dict(import_module(f"minikafka.lab.language.{self.folder}").CATALOGUE)
        for lesson in parts(self.folder):
            catalogue |= lesson.CATALOGUE
        return catalogue


LANGUAGES = {each.folder: each for each in (Language("zh", "zh-CN", "中文"),)}
"""The languages with a catalogue, by the folder of their lessons."""


def use_language(folder: str) -> None:
    """Let the lab speak the language of the lessons in `folder` from now on; "" is English.

    Raises KeyError for a folder of no language.
    """
    if not folder:
        spoken.speak(spoken.ENGLISH, {})
        return
    chosen = LANGUAGES[folder]
    spoken.speak(chosen.tag, chosen.catalogue())


def spoken_folder() -> str:
    """The folder of the language that is spoken now; "" for English."""
    return next((each.folder for each in LANGUAGES.values() if each.tag == spoken.language()), "")


@contextmanager
def spoken_in(folder: str) -> Iterator[None]:
    """`use_language(folder)` for the `with` block; then the language of before is spoken again."""
    before = spoken_folder()
    use_language(folder)
    try:
        yield
    finally:
        use_language(before)


def in_every_language(words: str) -> list[str]:
    """`words` in English, and in each language whose catalogue has them."""
    return [words, *(found[words] for found in (each.catalogue() for each in LANGUAGES.values()) if words in found)]
