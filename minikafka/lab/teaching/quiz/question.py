"""A question of the quiz, and what minikafka answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

CHOOSE, ORDER, COMPUTE, FILES, FIRST = "choose", "order", "compute", "files", "what first"
KINDS = (CHOOSE, ORDER, COMPUTE, FILES, FIRST)

GAP = " … "
"""What stands between words of several lines of a card."""


@dataclass(frozen=True)
class Question:
    """One question.

    - `kind`: CHOOSE one of the options; bring them into ORDER; COMPUTE a value; FILES: some of the options; FIRST: a
      broker shows something, and what is looked at before anything else?
    - `section`: where the lesson shows it: a section of its part 4.
    - `answer`: runs minikafka; gives the key of an option, keys in order (ORDER), a set of keys (FILES), or a value.
    - `options`: by key, in the page's words and order. `workload`: what the text speaks of, and what `answer` runs.
    - `card`: the words of the lesson's card, or of its picture, from which the answer follows; GAP between words of
      several lines.
    - `replies`: what refutes each wrong option, by its key; none where options are brought into ORDER.
    """

    kind: str
    section: str
    text: str
    answer: Callable[[], Any]
    why: str
    options: Mapping[Any, str] = field(default_factory=dict)
    workload: str = ""
    card: str = field(kw_only=True)
    replies: Mapping[Any, str] = field(default_factory=dict)

    def letters(self) -> dict[Any, str]:
        """The letter of each option on the page, by its key."""
        return {key: chr(ord("a") + place) for place, key in enumerate(self.options)}

    def wrong(self) -> list[Any]:
        """The keys of the options that are not the answer; none where options are brought into ORDER."""
        found = self.answer()
        if self.kind == ORDER:
            return []
        return [key for key in self.options if (key not in found if self.kind == FILES else key != found)]

    def solved(self) -> str:
        """The answer as the page has it: letters, or a value. Raises ValueError for an answer that is no option."""
        found, letters = self.answer(), self.letters()
        if not letters:
            return ", ".join(map(str, found)) if isinstance(found, list | tuple) else str(found)
        keys = [key for key in letters if key in found] if self.kind == FILES else found
        chosen = list(keys) if self.kind in (ORDER, FILES) else [keys]
        unknown = set(found if self.kind == FILES else chosen) - set(letters)
        if unknown or (self.kind == ORDER and sorted(letters[key] for key in chosen) != sorted(letters.values())):
            raise ValueError(f"{self.text}: minikafka answers {found!r}, which is none of {[*letters]}")
        return ", ".join(letters[key] for key in chosen) or "none of them"


def steps_taken(walk: Any, method: str) -> list[str]:
    """The numbers of the steps of `method` ("Log._append") that a walk came to, in the order of their first time."""
    return list(dict.fromkeys(frame.step.number for frame in walk.frames if frame.method.name == method))


def in_the_order_of(walk: Any, method: str, steps: Mapping[str, str]) -> list[str]:
    """Keys of `steps` (key → a step's number) in the order in which the walk came to those steps."""
    taken = steps_taken(walk, method)
    return sorted(steps, key=lambda key: taken.index(steps[key]))
