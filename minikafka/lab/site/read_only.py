"""In a browser, a lesson that cannot run there can be opened all the same, and is read with its stored outputs. When a
cell of it fails, it says why.
"""

from types import TracebackType
from typing import Any


def say_why_before_errors(shell: Any, words: str) -> None:
    """From now on `words` stand before each error that a cell of `shell` (an IPython) raises."""

    def told(
        shell: Any,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
        tb_offset: int | None = None,
    ) -> None:
        print(words)
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

    shell.set_custom_exc((Exception,), told)
