"""Records what Spark answers to the cases of the lessons' exercises:
`python -m minikafka.lab.course.record_exercises [name…]`.

The lessons whose names contain one of the words are asked, or all; each folder gets its `exercise_answers.json`.
"""

import sys

from minikafka.lab.exercises.recorded_judge import FILE, file_of
from minikafka.lab.lesson_folders import LessonFolder, lesson_folders


def text_for(folder: LessonFolder) -> str:
    """The text of a lesson's FILE, as Spark answers now; "" for a lesson without exercises."""
    from pyspark import __version__

    part = folder.part("exercises")
    answers = {
        exercise.name: [exercise.answer(number) for number in range(len(exercise.cases))]
        for exercise in getattr(part, "EXERCISES", ())
    }
    return file_of(__version__, answers) if answers else ""


def main() -> None:
    """Exits with 1 if no name contains such a word."""
    words = sys.argv[1:] or [""]
    chosen = [folder for folder in lesson_folders() if any(word in folder.name for word in words)]
    for folder in chosen:
        if text := text_for(folder):
            (folder.path / FILE).write_text(text, encoding="utf-8")
        print(folder.name, flush=True)
    sys.exit(not chosen)


if __name__ == "__main__":
    main()
