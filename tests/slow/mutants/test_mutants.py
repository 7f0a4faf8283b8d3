"""What `make mutants` tries: that its lists fit the code, and that its changes are changes."""

import ast

from tests.slow.mutants import mutations, try_mutants, try_solutions


def test_named_mutants_fit_the_code():
    for trial in try_mutants.named():
        source = try_mutants.source_of(trial.mutant.path)
        changed = trial.mutant.source(source)
        assert changed != source and ast.parse(changed), trial.title


def test_equivalent_mutants_are_still_there():
    keys = set()
    for path in {line.split(" | ")[0] for line in try_mutants.equivalent()}:
        source = try_mutants.source_of(path)
        keys |= {mutant.key(source) for mutant in mutations.mutants(path, source)}
    assert set(try_mutants.equivalent()) <= keys


def test_changes_of_every_kind():
    source = '''
def f(a, b=1):
    """Text stays."""
    logger.info("as do log lines", a)
    if not a and b < 2:
        g(a, b)
    h(b, b)
    return a + b
'''
    changes = [(mutant.old, mutant.new) for mutant in mutations.mutants("m.py", source)]
    assert changes == [
        ("1", "(1 + 1)"),
        ("not a and b < 2", "((not a) or (b < 2))"),
        ("not a", "bool(a)"),
        ("b < 2", "(b <= 2)"),
        ("2", "(2 + 1)"),
        ("g(a, b)", "pass"),
        ("g(a, b)", "g(b, a)"),
        ("h(b, b)", "pass"),
        ("return a + b", "return None"),
        ("a + b", "((a) - (b))"),
    ]


def test_changes_of_a_solution():
    source = """
def f(a, b):
    c = max(a[1:], b)
    return sql("SELECT o FROM {a} WHERE o >= 1 OR max(x) > 2")
"""
    usual = [mutant.key(source) for mutant in mutations.mutants("m.py", source)]
    changes = [(mutant.old, mutant.new) for mutant in mutations.mutants_of_a_solution("m.py", source)]
    assert changes[len(usual) :] == [
        ("max(a[1:], b)", "max([b])"),
        ("max(a[1:], b)", "max([a[1:]])"),
        ("a[1:]", "a"),
        ("1", "(1 - 1)"),
        (">=", ">"),
        ("1", "(1 + 1)"),
        ("OR", "AND"),
        ("max", "min"),
        (">", ">="),
        ("2", "(2 + 1)"),
    ]


def test_equal_solutions_are_still_there():
    lines = try_solutions.equal()
    lessons = {line.split(" | ")[0] for line in lines}
    keys = {
        key for lesson, task in try_solutions.tasks(sorted(lessons)) for key, _ in try_solutions.versions(lesson, task)
    }
    assert len(set(lines)) == len(lines) and set(lines) <= keys


def test_the_same_seed_draws_the_same_mutants():
    drawn = [try_mutants.generated("checkpoint", 5, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    for trial in drawn[0]:
        assert ast.parse(trial.mutant.source(try_mutants.source_of(trial.mutant.path)))
