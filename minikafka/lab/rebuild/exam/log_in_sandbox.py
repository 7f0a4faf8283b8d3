"""The program that holds a learner's log in the sandbox: it imports nothing of minikafka, and answers in plain values.

A request is a tuple: "load" and the text of the file; "lay" and files (content by name), for a new log directory that
begins with these; "left" and suffixes, for what lies in that directory; or a method of `MyLog`, its arguments, and the
seconds that it may take. An answer is a dict with one of these keys:

- `returned`: what a method returned, if that is None, a bool, an int, bytes or a str; for others `type` names the type;
- `raised`: the name of the exception's type, its message, and the number of the learner's line, None if it is in none;
- `late`: the number of the learner's line at which the time was over, None if it is in none;
- `refused`: in words, what in the file makes it no log, or what lies in the directory and is none of a log's files;
- `files`: content by name, packed by zlib.
"""

import inspect
import os
import shutil
import signal
import stat
import sys
import traceback
import types
import zlib

FILE = "my_log.py"
PARAMETERS = {
    "__init__": ["self", "directory", "settings", "clean"],
    "append": ["self", "batch", "leader_epoch"],
    "roll": ["self"],
    "read": ["self", "offset", "max_bytes"],
    "close": ["self"],
}
"""The methods of `MyLog` and their parameters, as in the template `my_log.py`."""
MOST_BYTES = 256 << 20
"""In the files that are asked for; without those that a log has yet to cut they have less than one MiB."""
_MOST_FILES = 1000
_LONGEST_WORDS = 2_000


class Late(BaseException):
    """The time is over; no `Exception`, so that few handlers take it for theirs."""


class Held:
    """The learner's class, the log that is open, and its directory."""

    kind = log = None
    directory = os.path.join(os.getcwd(), "topic-0")


def answer(request):
    """Do what the request says."""
    name, *arguments = request
    return {"load": _load, "lay": _lay, "left": _left}.get(name, lambda *_: _call(*request))(*arguments)


def _load(source):
    module = types.ModuleType("my_log")
    sys.modules["my_log"] = module
    try:
        exec(compile(source, FILE, "exec"), module.__dict__)
    except BaseException as error:
        where = f", line {line}" if (line := _line_of(error)) else ""
        return {"refused": f"cannot be imported{where}: {type(error).__name__}: {_words_of(error)}".rstrip(": ")}
    found = getattr(module, "MyLog", None)
    if not inspect.isclass(found):
        return {"refused": "has no class MyLog"}
    for name, wanted in PARAMETERS.items():
        method = getattr(found, name, None)
        is_there = callable(method) and method is not getattr(object, name, None)
        given = _parameters_of(method, wanted) if is_there else None
        if given != wanted:
            has = "is missing" if given is None else f"takes ({', '.join(given)})"
            return {"refused": f"MyLog.{name} {has}; it must take ({', '.join(wanted)})"}
    Held.kind = found
    return {"returned": None}


def _parameters_of(method, wanted):
    """The names of the parameters; those that are wanted for a method that takes any arguments, as a decorator's
    inner function does, or that does not say what it takes.
    """
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return wanted
    kinds = inspect.Parameter
    first = [each.name for each in parameters if each.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    if any(each.kind is kinds.VAR_POSITIONAL for each in parameters) and first == wanted[: len(first)]:
        return wanted
    return [each.name for each in parameters]


def _lay(files):
    Held.log = None
    shutil.rmtree(Held.directory, ignore_errors=True)
    os.mkdir(Held.directory)
    for name, content in files.items():
        os.makedirs(os.path.dirname(os.path.join(Held.directory, name)), exist_ok=True)
        with open(os.path.join(Held.directory, name), "wb") as file:
            file.write(content)
    return {"returned": None}


def _call(name, arguments, seconds):
    line = None

    def too_late(_signal, frame):
        nonlocal line
        while frame is not None and frame.f_code.co_filename != FILE:
            frame = frame.f_back
        line = frame and frame.f_lineno
        raise Late

    signal.signal(signal.SIGALRM, too_late)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        if name == "__init__":
            Held.log = Held.kind.__new__(Held.kind)
            arguments = [Held.directory, *arguments]
        result = getattr(Held.log, name)(*arguments)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return _told(result)
    except Late:
        return {"late": line}
    except BaseException as error:
        return {"raised": [type(error).__name__, _words_of(error), _line_of(error)]}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _told(result):
    if result is None or isinstance(result, bool):
        return {"returned": result}
    if isinstance(result, str):
        return {"returned": str.__str__(result)}
    if isinstance(result, (bytes, bytearray, memoryview)):
        return {"returned": bytes(memoryview(result))}
    if isinstance(result, int) and int.bit_length(result) < 64:
        return {"returned": int.__int__(result)}
    return {"type": type(result).__name__}


def _left(suffixes):
    try:
        return _plain_files(suffixes)
    except RecursionError:
        return {"refused": "directories are nested too deeply"}
    except OSError as error:
        return {"refused": f"something cannot be read: {error.strerror}"}


def _plain_files(suffixes):
    files, left = {}, MOST_BYTES
    if os.path.islink(Held.directory) or not os.path.isdir(Held.directory):
        return {"refused": "the log's directory is gone"}
    for folder, directories, names in os.walk(Held.directory):
        for name in [*directories, *names]:
            path = os.path.join(folder, name)
            where, status = os.path.relpath(path, Held.directory), os.lstat(path)
            if why := _why_it_is_not_plain(status):
                return {"refused": f"{where} {why}"}
            if name in directories or not name.endswith(tuple(suffixes)):
                continue
            left -= status.st_size
            if left < 0 or len(files) >= _MOST_FILES:
                return {"refused": f"there are more than {MOST_BYTES >> 20} MiB, or more than {_MOST_FILES} files"}
            with open(path, "rb") as file:
                files[where] = zlib.compress(file.read(), 1)
    return {"files": files}


def _why_it_is_not_plain(status):
    if stat.S_ISDIR(status.st_mode):
        return ""
    if stat.S_ISLNK(status.st_mode):
        return "is a link"
    if not stat.S_ISREG(status.st_mode):
        return "is no regular file"
    return "is a file that has a second name" if status.st_nlink > 1 else ""


def _words_of(error):
    try:
        words = str(error)[:_LONGEST_WORDS]
    except BaseException:  # of a __str__ that is the learner's own
        return ""
    is_missing = isinstance(error, ModuleNotFoundError)
    return f"{words}; there are the standard library and crc32c alone" if is_missing else words


def _line_of(error):
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == FILE]
    return lines[-1] if lines else None
