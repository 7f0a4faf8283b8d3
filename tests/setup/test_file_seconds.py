"""Two processes share the files of tests so that both are busy to the end, and none is left out."""

from types import SimpleNamespace

import pytest

from tests import file_seconds, two_halves


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Measured files: (in `make test`, in `make quick`)."""
    monkeypatch.setattr(file_seconds, "TABLE", tmp_path / "tests" / "table.txt")
    monkeypatch.setattr(file_seconds, "_ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    for name in "abcd":
        (tmp_path / f"tests/test_{name}.py").touch()
    lines = ("a 9.0 1.0", "b 30.0 -", "c 2.0 8.0", "d 3.0 7.5", "gone 5.0 5.0")
    file_seconds.TABLE.write_text("".join(f"tests/test_{name}.py {a} {b}\n" for name, a, b in map(str.split, lines)))


PATHS = [f"tests/test_{name}.py" for name in ("new", *"abcd")]


def test_each_file_is_in_one_half_and_both_are_as_long(table):
    one, other = (file_seconds.half(number, PATHS, quick=True) for number in (1, 2))
    assert one | other == set(PATHS) and not one & other
    seconds = file_seconds.seconds_of_files(quick=True)
    lengths = [sum(seconds.get(path, 1.0) for path in half) for half in (one, other)]
    assert abs(lengths[0] - lengths[1]) < 2, (one, other)


def test_the_longest_file_comes_first_and_its_tests_stay_in_their_order(table):
    items = [SimpleNamespace(nodeid=f"{path}::test_{number}") for path in PATHS for number in (2, 1)]
    ordered = [item.nodeid for item in file_seconds.longest_first(items)]
    files = [f"tests/test_{name}.py" for name in ("b", "a", "d", "c", "new")]
    assert ordered == [f"{path}::test_{number}" for path in files for number in (2, 1)]


def test_what_is_noted_of_one_kind_of_run_keeps_the_other(table):
    file_seconds.note({"tests/test_a.py": 4.04, "tests/test_b.py": 0.3}, quick=True)
    assert file_seconds.TABLE.read_text().splitlines() == [
        "tests/test_a.py 9.0 4.0",
        "tests/test_b.py 30.0 0.3",
        "tests/test_c.py 2.0 -",
        "tests/test_d.py 3.0 -",
    ]


@pytest.mark.parametrize(("codes", "code"), [((0, 0), 0), ((1, 0), 1), ((0, 2), 2)])
def test_both_halves_are_told_and_have_to_pass(monkeypatch, tmp_path, capfd, codes, code):
    """A pytest that prints and fails stands in for the real one."""
    package = tmp_path / "pytest"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        f"import signal, sys\nassert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        f"*_, half, tests = sys.argv\nprint(half, tests)\nsys.exit({codes}[int(half) - 1])"
    )
    monkeypatch.chdir(tmp_path)
    assert two_halves.main(["--quick"]) == code
    assert sorted(capfd.readouterr().out.splitlines()) == ["1 tests", "2 tests"]
