"""Runs in the browser before the kernel is imported. It stands in for what the kernel imports and no lesson needs:
IPython's terminal, and an installer of packages (piplite). They would take half of the time in which the kernel starts,
and a megabyte.
"""

import sys
from types import ModuleType
from typing import NoReturn

_NOTHING_TO_INSTALL = "The live lessons install nothing: all that they need is there."


def _embed(**_: object) -> NoReturn:
    raise NotImplementedError("a browser has no terminal")


async def _install(*_: object, **__: object) -> None:
    print(_NOTHING_TO_INSTALL)


async def _code_instead_of_pip(_: list[str]) -> str:
    return f"print({_NOTHING_TO_INSTALL!r})"


def _put(name: str, **members: object) -> ModuleType:
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(members)
    return module


_put("IPython.terminal.embed", embed=_embed)
_put(
    "piplite",
    install=_install,
    piplite=_put("piplite.piplite", install=_install),
    cli=_put("piplite.cli", get_transformed_code=_code_instead_of_pip),
)
