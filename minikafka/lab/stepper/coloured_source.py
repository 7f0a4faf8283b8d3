"""Python source as HTML in which keywords, strings, comments and numbers are told apart."""

import functools
from html import escape

from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Number, Operator, String

_CLASSES = (
    (Keyword, "mk-keyword"),
    (Operator.Word, "mk-keyword"),
    (String, "mk-string"),
    (Comment, "mk-comment"),
    (Number, "mk-number"),
)
"""The kinds of tokens that have a look of their own; their subkinds share it."""


@functools.cache
def coloured_lines(source: tuple[str, ...]) -> tuple[str, ...]:
    """Each line of `source` as HTML that stands by itself. Spaces at its beginning are in no element, so that an
    indentation can be cut off.
    """
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    lines = [""]
    for kind, words in lexer.get_tokens("\n".join(source)):
        first, *others = words.split("\n")
        lines[-1] += _coloured(kind, first)
        lines += [_coloured(kind, line) for line in others]
    return tuple(lines)


def _coloured(kind: object, words: str) -> str:
    code = words.lstrip(" ")
    look = next((name for each, name in _CLASSES if kind in each), None)
    shown = f'<span class="{look}">{escape(code)}</span>' if look and code else escape(code)
    return f"{words[: len(words) - len(code)]}{shown}"
