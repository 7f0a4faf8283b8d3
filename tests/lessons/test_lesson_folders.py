"""A lesson comes with its folder and goes with it: no other file names it."""

import json
import shutil
import sys

import pytest

import minikafka.lessons
from minikafka.lab import lesson_folders
from minikafka.lab.course.build_lessons import notebook_of, texts
from minikafka.lab.course.places import COURSE
from minikafka.lab.exercises.predict_call import ids_by_question, is_id, predict_calls_in
from minikafka.lab.exercises.prediction import known_beliefs
from minikafka.lab.grading.lesson_tasks import PREDICTION, tasks_of
from minikafka.lab.language.chosen import LANGUAGES
from minikafka.lab.lesson_folders import lesson_named, parts
from minikafka.lab.stage.planted_bugs import planted
from minikafka.lab.teaching.build import plan_of
from minikafka.lab.teaching.invariants import groups
from minikafka.lab.teaching.quiz.quiz_page import questions
from minikafka.log.local_log import LocalLog

TINY = {
    "03a-tiny.py": "# %% [markdown]\n# # Tiny\n\n# %%\n1 + 1\n",
    "03a-tiny-rebuild.py": "# %% [markdown]\n# # Tiny: rebuild\n",
    "03a-tiny-rebuild.solutions.py": "# %% [markdown]\n# # Tiny: solutions\n",
    "__init__.py": "",
    "predictions.py": 'BELIEFS = {"how-many": {1: "There are two."}}\n',
    "planted_bugs.py": (
        "from minikafka.log.local_log import LocalLog\n\n\n"
        'def bugs():\n    return {"a log is called tiny": (LocalLog, "name", "tiny")}\n'
    ),
    "quiz.py": (
        "from minikafka.lab.teaching.quiz.question import COMPUTE, Question\n\n"
        'QUESTIONS = (Question(COMPUTE, "Tiny", "How many?", lambda: 2, "One and one.", card="two"),)\n'
    ),
    "rungs.py": 'LADDER = ("a rung",)\n',
    "zh.py": 'CATALOGUE = {"tiny": "小"}\n',
    "plan.md": "# 03a Tiny\n",
}


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The directory of the lessons, a copy of the project's that a test may change."""
    copy = tmp_path / "lessons"
    shutil.copytree(lesson_folders.LESSONS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(lesson_folders, "LESSONS", copy)
    monkeypatch.setattr(minikafka.lessons, "__path__", [str(copy)])
    before = dict(sys.modules)
    for name in [name for name in sys.modules if name.startswith("minikafka.lessons.")]:
        monkeypatch.delitem(sys.modules, name)
    known_beliefs.cache_clear()
    yield copy
    for name in [name for name in sys.modules if name.startswith("minikafka.lessons.") and name not in before]:
        del sys.modules[name]
    known_beliefs.cache_clear()


def test_a_lesson_comes_with_its_folder(folders):
    (folders / "made_by_a_test").mkdir()
    for name, text in TINY.items():
        (folders / "made_by_a_test" / name).write_text(text, encoding="utf-8")
    names = [folder.name for folder in lesson_folders.lesson_folders()]
    assert names[names.index("03a-tiny") - 1].startswith("03-") and names[names.index("03a-tiny") + 1].startswith("04")
    assert [
        notebook_of(text).relative_to(COURSE).as_posix() for text in texts() if text.parent.name == "made_by_a_test"
    ] == [
        "03a-tiny.ipynb",
        "03a-tiny-rebuild.ipynb",
        "solutions/03a-tiny-rebuild.ipynb",
    ]
    assert known_beliefs()["how-many"] == {1: "There are two."}
    with planted("a log is called tiny"):
        assert LocalLog.name == "tiny"
    assert [question.solved() for lesson, question in questions() if lesson.name == "03a-tiny"] == ["2"]
    assert ("a rung",) in [rungs.LADDER for rungs in parts("rungs")]
    assert LANGUAGES["zh"].catalogue()["tiny"] == "小"
    assert plan_of(lesson_named("03a-tiny")) == plan_of(lesson_named("03a-tiny-rebuild")) == "# 03a Tiny"


def test_a_lesson_goes_with_its_folder(folders):
    count, gone = len(lesson_folders.lesson_folders()), lesson_named("03-high-watermark")
    ladder, bugs = gone.part("rungs").LADDER, [*gone.part("planted_bugs").bugs()]
    [*asked] = gone.part("predictions").BELIEFS
    for name in [name for name in sys.modules if name.startswith(gone.package)]:
        del sys.modules[name]
    shutil.rmtree(gone.path)
    assert len(lesson_folders.lesson_folders()) == count - 1
    assert not [text for text in texts() if "high-watermark" in text.name]
    assert ladder not in [rungs.LADDER for rungs in parts("rungs")] and not set(asked) & set(known_beliefs())
    assert "03-high-watermark" not in {lesson.name for lesson, _ in questions()}
    assert not [rule for group in groups() for each in group.invariants for rule in each.rules if rule[:2] == "03"]
    for bug in bugs:
        with pytest.raises(KeyError), planted(bug):
            pass
    with pytest.raises(KeyError, match="03-high-watermark"):
        lesson_named("03-high-watermark")


def test_two_lessons_that_have_the_same_id_are_told(folders):
    (folders / "made_by_a_test").mkdir()
    beliefs = 'BELIEFS = {"mark-after-first-read": {1: "It has not been read."}}\n'
    for name, text in {**TINY, "predictions.py": beliefs}.items():
        (folders / "made_by_a_test" / name).write_text(text, encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"^minikafka\.lessons\.made_by_a_test\.predictions: .* 'mark-after-first-read' as well$"
    ):
        known_beliefs()


def test_a_prediction_has_an_id_of_its_own_and_its_lesson_has_the_beliefs_about_it():
    everywhere = []
    for folder in lesson_folders.lesson_folders():
        ids = [call.id for call in predict_calls_in(folder.text.read_text(encoding="utf-8"))]
        assert [*folder.part("predictions").BELIEFS] == ids, folder.name
        assert all(map(is_id, ids)), ids
        everywhere += ids
    assert len(everywhere) == len(set(everywhere)) == len({*ids_by_question().values()}) > 100


def test_what_was_answered_before_a_question_got_other_words_is_found():
    told, asked = {}, set()
    for folder in lesson_folders.lesson_folders():
        earlier = folder.path / "earlier_questions.json"
        told |= json.loads(earlier.read_text(encoding="utf-8")) if earlier.exists() else {}
        asked |= {call.question for call in predict_calls_in(folder.text.read_text(encoding="utf-8"))}
    assert told.items() <= ids_by_question().items() and len(told) > 50 and not asked & told.keys()


def test_every_lesson_has_what_the_course_asks_of_one():
    for folder in lesson_folders.lesson_folders():
        kinds = {task.kind for task in tasks_of(notebook_of(folder.text))}
        has = {path.name for path in folder.path.iterdir()}
        texts = {folder.rebuild.name, folder.rebuild.with_suffix(".solutions.py").name}
        assert {"__init__.py", "predictions.py", "plan.md", "slides.toml", *texts} <= has
        assert ("exercise" in kinds) == ({"exercises", "solutions.py"} <= has), folder.name
        assert ("rung" in kinds) == ("rungs.py" in has), folder.name


def test_what_a_lesson_says_of_others_is_there():
    """Each planted bug takes the place of something, and each belief belongs to a prediction of its lesson."""
    for folder in lesson_folders.lesson_folders():
        bugs = folder.part("planted_bugs")
        for words, (owner, name, _) in (bugs.bugs() if bugs else {}).items():
            assert hasattr(owner, name), f"{folder.name}, {words}: {owner.__name__} has no {name}"
        asked = {task.id for task in tasks_of(notebook_of(folder.text)) if task.kind == PREDICTION}
        beliefs = set(folder.part("predictions").BELIEFS)
        assert beliefs <= asked, f"{folder.name}: nobody asks {beliefs - asked}"
