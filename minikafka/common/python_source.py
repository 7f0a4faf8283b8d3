"""Python's text into its syntax tree, also where several threads want that at the same time."""

import ast
import gc
import threading

_alone = threading.RLock()


def parse(source: str, file: str = "<unknown>") -> ast.Module:
    """`ast.parse`, for one thread at a time, and without a collection of garbage meanwhile.

    CPython counts for all threads together how deep the tree is that it builds. A collection in the middle lets other
    threads run; if one of them parses, the first ends with SystemError, "AST constructor recursion depth mismatch".

    Raises SyntaxError, ValueError, RecursionError and MemoryError.
    """
    with _alone:
        collects = gc.isenabled()
        gc.disable()
        try:
            return ast.parse(source, file)
        finally:
            if collects:
                gc.enable()
