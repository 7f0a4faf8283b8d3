"""A lesson that is only read in a browser: a cell that fails says why."""

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from minikafka.lab.site.read_only import say_why_before_errors


def test_the_words_stand_before_each_error_and_before_nothing_else(capsys):
    shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
    say_why_before_errors(shell, "This needs sockets.")
    shell.run_cell("print(1 + 1)")
    assert capsys.readouterr().out == "2\n"
    failed = shell.run_cell("import no_such_module")
    told = capsys.readouterr().out
    assert isinstance(failed.error_in_exec, ModuleNotFoundError)
    assert told.startswith("This needs sockets.\n") and "no_such_module" in told
