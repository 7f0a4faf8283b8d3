"""Records what Spark and Kafka answer to the lessons' workloads:
`python -m minikafka.lab.course.record_answers [name…]`.

The lessons whose names contain one of the words are run, or all; each folder gets its `witness_answers.json`, or loses
it where the lesson asks nothing. A build of the notebooks does the same with the run that it makes anyway.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minikafka.lab.course.lesson_kernel import run_in_a_kernel
from minikafka.lab.course.places import COURSE
from minikafka.lab.lesson_folders import LessonFolder, lesson_folders
from minikafka.lab.stage.recorded_answers import FILE, RECORDED_IN, file_of


@contextmanager
def recorded_for(folder: LessonFolder) -> Iterator[None]:
    """What witnesses answer in kernels that are started inside the block becomes the folder's FILE, if nothing is
    raised.
    """
    before = os.environ.get(RECORDED_IN)
    with tempfile.TemporaryDirectory() as place:
        recorded = Path(place, "answers")
        os.environ[RECORDED_IN] = str(recorded)
        try:
            yield
        finally:
            del os.environ[RECORDED_IN]
            if before is not None:
                os.environ[RECORDED_IN] = before
        text = file_of(recorded)
    if text:
        (folder.path / FILE).write_text(text, encoding="utf-8")
    else:
        (folder.path / FILE).unlink(missing_ok=True)


def main() -> None:
    """Exits with 1 if no name contains such a word."""
    import nbformat

    words = sys.argv[1:] or [""]
    chosen = [folder for folder in lesson_folders() if any(word in folder.name for word in words)]
    for folder in chosen:
        notebook = nbformat.read(COURSE / f"{folder.name}.ipynb", as_version=4)
        with recorded_for(folder):
            run_in_a_kernel(notebook, COURSE, store_widget_state=False)
        print(folder.name, flush=True)
    sys.exit(not chosen)


if __name__ == "__main__":
    main()
