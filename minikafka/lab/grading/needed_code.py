"""Which statements of a notebook a function needs: those that bind the names that it uses, and what these need."""

import ast
import builtins
import copy
import symtable
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator

_MOST_PARTS = 20_000  # of a function's syntax tree; all of a lesson's code has about as many characters
_EVERYTHING = "*"  # the name under which `from math import *` is found
_FUTURE = "from __future__"
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class TooMuchCodeError(ValueError):
    """A function needs more code than is run."""


class NotebookCode:
    """The statements at the top of a notebook's cells, in order; an import of several names is one statement for each.

    What a statement uses is looked up in what stands before it, as when the cells run one after another, and, because a
    function looks names up when it is called, in what stands before the place where it is handed in.
    """

    def __init__(self, statements: Iterable[ast.stmt]):
        self.statements = [part for statement in statements for part in _parts(statement)]
        self._binding: dict[str, list[int]] = {}
        self._used_at: dict[int, list[str]] = {}
        self._bound_anew_at: dict[int, set[str]] = {}
        defined = {each.name for each in self.statements if isinstance(each, _DEFINITIONS)}
        for place, statement in enumerate(self.statements):
            for name in _bound(statement, defined):
                self._binding.setdefault(name, []).append(place)

    @property
    def names(self) -> Collection[str]:
        """What is bound, or changed, somewhere."""
        return self._binding.keys()

    def needed(self, goal: ast.AST, at: int) -> list[ast.stmt]:
        """The statements that `goal`, which stands before statement `at`, needs, in their order.

        Raises TooMuchCodeError, RecursionError.
        """
        chosen: dict[int, None] = dict.fromkeys(self._places(_FUTURE, at, set()))
        looked_up: set[tuple[str, int]] = set()
        parts = size_of(goal)
        open_names = [(name, at) for name in _names_from_outside(goal)]
        for name, place in open_names:  # to which the loop adds
            for binding in self._places(name, place, looked_up):
                if binding in chosen:
                    continue
                chosen[binding] = None
                statement = self.statements[binding]
                parts += size_of(statement)
                if parts > _MOST_PARTS:
                    raise TooMuchCodeError(f"it has more than {_MOST_PARTS:,} names, values and operations")
                for used in [*self._used(binding), *_calls_that_set_names(statement)]:
                    open_names += ((used, binding), (used, at))
        return [self.statements[place] for place in sorted(chosen)]

    def last_binding(self, name: str, at: int) -> ast.stmt | None:
        """The last statement before statement `at`, or if there is none the last of all, that binds `name`."""
        places = self._places(name, at, set())
        return self.statements[max(places)] if places else None

    def _places(self, name: str, at: int, looked_up: set[tuple[str, int]]) -> list[int]:
        """The places of the statements that make the value of `name` before `at`: from the last one that binds it
        anew, those that change it.

        Where none stands before, the cells were run in another order. Those in `looked_up` are known already.
        """
        if name not in self._binding and not hasattr(builtins, name):
            name = _EVERYTHING
        all_places = self._binding.get(name, [])
        before = bisect_left(all_places, at)
        places: list[int] = []
        for place in reversed(all_places[:before] or all_places):
            if (name, place) in looked_up:
                break
            looked_up.add((name, place))
            places.append(place)
            if name in self._bound_anew(place):
                break
        return places

    def _used(self, place: int) -> list[str]:
        if place not in self._used_at:
            self._used_at[place] = _names_from_outside(self.statements[place])
        return self._used_at[place]

    def _bound_anew(self, place: int) -> set[str]:
        if place not in self._bound_anew_at:
            statement = self.statements[place]
            assigns = isinstance(statement, ast.Assign | ast.AnnAssign)
            self._bound_anew_at[place] = _bound_anew(statement, self._used(place) if assigns else ())
        return self._bound_anew_at[place]


def _parts(statement: ast.stmt) -> Iterator[ast.stmt]:
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        yield statement
        return
    for alias in statement.names:
        part = copy.copy(statement)
        part.names = [alias]
        yield part


def _bound(statement: ast.stmt, defined: Collection[str]) -> set[str]:
    """The names that a statement binds, and those whose objects it may change: it calls a method of them, sets a part
    of them, or gives them, if they are none of the functions and classes `defined`, to a function that it calls for its
    effect. The call of `f` for its effect is found as `f()`.
    """
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return {_FUTURE}
    if isinstance(statement, _DEFINITIONS):
        outside = (node.names for node in ast.walk(statement) if isinstance(node, ast.Global))
        return {statement.name, *(name for names in outside for name in names)}
    found: set[str] = set()
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                found |= _root(node)
            case ast.Expr(value=ast.Call(func=function, args=arguments)) if not _only_asks(function):
                found |= {f"{function.id}()"} if isinstance(function, ast.Name) else _root(function)
                found |= {each.id for each in arguments if isinstance(each, ast.Name) and each.id not in defined}
    return found


def _calls_that_set_names(statement: ast.stmt) -> list[str]:
    """Of a function that sets names of the notebook, its call."""
    sets_names = any(isinstance(node, ast.Global) for node in ast.walk(statement))
    return [f"{statement.name}()"] if isinstance(statement, _DEFINITIONS) and sets_names else []


def _only_asks(function: ast.expr) -> bool:
    """Whether a call is one of those by which a notebook hands in what it has."""
    match function:
        case ast.Attribute(attr="check") | ast.Name(id="predict"):
            return True
    return False


def _root(node: ast.expr) -> set[str]:
    """The name at the beginning of `name.part[3].other`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _bound_anew(statement: ast.stmt, used: Collection[str]) -> set[str]:
    """The names that have their whole value by this statement, which uses `used`, whatever stands before it."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=[ast.alias(name=name, asname=None)]) if "." in name:
            return set()  # `import os.path` beside `import os.other`
        case ast.Import() | ast.ImportFrom():
            return _bound(statement, ()) - {_EVERYTHING, _FUTURE}
        case ast.Assign() | ast.AnnAssign(value=ast.expr()):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            within = [node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
            return {node.id for node in within if isinstance(node.ctx, ast.Store)}.difference(used)
    return set()


def size_of(node: ast.AST) -> int:
    """The number of names, values and operations in it."""
    return sum(1 for _ in ast.walk(node))


def _names_from_outside(code: ast.AST) -> list[str]:
    """The names that code takes from the notebook: a function's parameters and local names are none of them."""
    named = dict.fromkeys(node.id for node in ast.walk(code) if isinstance(node, ast.Name))
    try:
        tables = [symtable.symtable(ast.unparse(code), "cell", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what Python cannot compile is refused further on
        return [*named]
    outside = set()
    for table in tables:  # to which the loop adds
        looks_around = table is tables[0] or table.get_type() == "class"  # its own names are looked up outside as well
        for each in table.get_symbols():
            used = each.is_referenced() or each.is_declared_global()  # of `n += 1` symtable tells no reference
            if used and (each.is_global() or looks_around):
                outside.add(each.get_name())
        tables += table.get_children()
    return [name for name in named if name in outside]
