"""Lets a wheel carry the course: `minikafka lab` opens its notebooks without a clone. All else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CARRIED = ("notebooks", "diagrams", "teaching", "docs")
_NOT_CARRIED = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")


class BuildWithCourse(build_py):
    def run(self):
        super().run()
        if self.editable_mode:  # the package then lies in the clone, beside the course
            return
        for name in CARRIED:
            target = Path(self.build_lib, "minikafka", "lab", "course", "carried", name)
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(name, target, ignore=_NOT_CARRIED)


setup(cmdclass={"build_py": BuildWithCourse})
