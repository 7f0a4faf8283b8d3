"""Runs in Pyodide while the site is built: compiles the modules that a lesson's start imports, in the archives.

A browser compiles what a wheel brings as source on each visit, which takes half of the time to the first prediction.
A module that is not imported stays as it is, since compiled code is larger.
"""

import importlib.util
import os
import sys
import zipfile
from contextlib import suppress
from importlib._bootstrap_external import _code_to_hash_pyc  # type: ignore[attr-defined]

_SITE = "/lib/python3.14/site-packages/"
_STANDARD = "/lib/python314.zip/"
_WITH_SOURCE = "minikafka-"
"""The wheel whose source stays beside the compiled code: lessons show it."""


def compile_loaded(folder: str, imports: str) -> None:
    """Run `imports`, a statement a line, as far as they can be run; compile in `folder` what is loaded then."""
    for statement in imports.splitlines():
        with suppress(Exception):
            exec(statement, {})
    loaded = {
        os.path.abspath(file) for module in [*sys.modules.values()] if (file := getattr(module, "__file__", None))
    }
    for name in sorted(os.listdir(folder)):
        if name.endswith((".whl", ".zip")):
            _compile(os.path.join(folder, name), loaded, _SITE if name.endswith(".whl") else _STANDARD)


def _compile(archive: str, loaded: set[str], place: str) -> None:
    compiled = f"{archive}.compiled"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(compiled, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for entry in old.infolist():
            content = old.read(entry)
            if place + entry.filename not in loaded or not entry.filename.endswith(".py"):
                new.writestr(entry, content, compresslevel=9)
                continue
            code = compile(content, place + entry.filename, "exec", dont_inherit=True)
            pyc = bytes(_code_to_hash_pyc(code, importlib.util.source_hash(content), False))
            if os.path.basename(archive).startswith(_WITH_SOURCE):
                new.writestr(entry, content, compresslevel=9)
                target = importlib.util.cache_from_source(entry.filename)
            else:
                target = f"{entry.filename}c"
            new.writestr(_entry(target, entry), pyc, compresslevel=9)
    os.replace(compiled, archive)


def _entry(name: str, like: zipfile.ZipInfo) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, like.date_time)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
