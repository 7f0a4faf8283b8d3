"""The pages below `teaching/` say what their sources say, and what minikafka answers."""

import re
from functools import cache
from xml.etree import ElementTree

import nbformat
import pytest

from minikafka.lab.course.build_lessons import notebook_of, texts
from minikafka.lab.course.lesson_notebooks import lessons
from minikafka.lab.course.places import COURSE, DIAGRAMS
from minikafka.lab.exercises.prediction import known_beliefs
from minikafka.lab.grading.lesson_tasks import EXERCISE, RUNG, tasks_of
from minikafka.lab.lesson_folders import REBUILD, lesson_named
from minikafka.lab.site.texts import pages_of_texts
from minikafka.lab.stepper.kafka_lines import kafka_line
from minikafka.lab.teaching import answers_page, cards, invariants
from minikafka.lab.teaching.build import ANSWERS, TEACHING, pages, plan_of
from minikafka.lab.teaching.known_answers import read_answers
from minikafka.lab.teaching.lesson_parts import CARD, card_of, cells_of, questions_of, title_of
from minikafka.lab.teaching.quiz import question as quiz
from minikafka.lab.teaching.quiz.quiz_page import questions
from tests.notebooks.read_once import read_text

LESSONS = lessons()
QUIZ = TEACHING / "quiz.md"
PAGES = pages()
ASKED = questions()
QUESTIONS = [question for _, question in ASKED]
TEXTS_TO_READ = [text for text in texts() if REBUILD not in text.name]
each_text_to_read = pytest.mark.parametrize("text", TEXTS_TO_READ, ids=[text.stem for text in TEXTS_TO_READ])
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.stem for lesson in LESSONS])


each_question = pytest.mark.parametrize(
    ("lesson", "question"), ASKED, ids=[f"{lesson.name[:3].rstrip('-')}-{each.text[:40]}" for lesson, each in ASKED]
)


@cache
def words_of_card(lesson) -> list[str]:
    """The lines of the lesson's card, and all words of its picture."""
    card = card_of(lesson)
    picture = lesson.parent / re.search(r"!\[.+\]\((.+)\)", card)[1]
    texts = ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")
    return [*card.splitlines(), " ".join(" ".join("".join(text.itertext()).split()) for text in texts)]


@cache
def sections_of(lesson) -> set[tuple[int, str]]:
    return {(cell.part, cell.section) for cell in cells_of(lesson)} | {(cell.part, "") for cell in cells_of(lesson)}


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] * (page == QUIZ), id=page.name) for page in PAGES]
)
def test_a_page_is_what_its_sources_give(page):
    assert page.read_text(encoding="utf-8") == PAGES[page](), "run `make teaching`"


@each_lesson
def test_every_prediction_has_its_answer(lesson):
    answers = read_answers(ANSWERS)[lesson.stem]
    assert [*answers] == [*questions_of(lesson)] and set(answers) <= set(known_beliefs())


@each_lesson
def test_a_plan_fills_its_minutes_and_names_what_is_there(lesson):
    plan = plan_of(lesson_named(lesson.stem))
    rows = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", plan, re.MULTILINE)
    assert plan.startswith(f"# {lesson.stem.partition('-')[0]} {title_of(lesson)}\n")
    assert sum(int(minutes) for minutes, _, _ in rows) == 90
    for length, less in ((60, 30), (45, 15)):
        line = re.search(rf"^- \*\*{length} minutes:\*\*.*$", plan, re.MULTILINE)[0]
        assert sum(map(int, re.findall(r"\(−(\d+)\)", line))) == less
    places = [place for _, _, where in rows for place in re.findall(r"part (\d)(?: \*((?:[^*\\]|\\.)+)\*)?", where)]
    assert {(int(part), section.replace("\\", "")) for part, section in places} <= sections_of(lesson)
    tasks = [task.kind for task in tasks_of(lesson)]
    for sign, most in (("E", tasks.count(EXERCISE)), ("R", tasks.count(RUNG)), ("P", len(questions_of(lesson)))):
        assert all(1 <= int(number) <= most for number in re.findall(rf"\b{sign}(\d+)\b", plan)), sign
    named = [int(number) for _, _, where in rows for number in re.findall(r"\bP(\d+)\b", where)]
    assert named == [*range(1, len(questions_of(lesson)) + 1)]
    assert all(f"## {heading}\n" in plan for heading in ("Plan for 90 minutes", "Prepare", "Where a class stumbles"))


@each_lesson
def test_a_page_answers_every_task(lesson):
    page = (TEACHING / "lessons" / f"{lesson.stem}.md").read_text(encoding="utf-8")
    made = page.partition(answers_page.LINE)[2]
    assert made.count("*The idea:*") == sum(task.kind in (EXERCISE, RUNG) for task in tasks_of(lesson))
    assert "*The idea:* \n" not in made and "Why: \n" not in made


def test_every_rule_of_every_lesson_is_on_the_sheet_once():
    shown = [each for group in invariants.groups() for each in group.invariants]
    rules = [rule for each in shown for rule in each.rules]
    assert (
        sorted(rules) == sorted(invariants.all_rules())
        and len({rule.partition(".")[0] for rule in rules}) == len(LESSONS) - 1
    )
    assert [each.kafka for each in shown if each.kafka and kafka_line(each.kafka) is None] == []


def test_the_quiz_has_questions_of_all_kinds_from_all_lessons():
    assert len(QUESTIONS) >= 30 and {each.kind for each in QUESTIONS} == set(quiz.KINDS)
    assert {lesson.stem for lesson in LESSONS} - {lesson.name for lesson, _ in ASKED} <= {"00-start-here"}
    for lesson, each in ASKED:
        assert (4, each.section) in sections_of(COURSE / f"{lesson.name}.ipynb"), each.text


@each_question
def test_the_card_of_its_lesson_answers_a_question(lesson, question):
    card = words_of_card(COURSE / f"{lesson.name}.ipynb")
    missing = [words for words in question.card.split(quiz.GAP) if not any(words in line for line in card)]
    assert missing == [] and question.card


@each_question
def test_a_reply_refutes_each_wrong_option(lesson, question):
    assert [*question.replies] == question.wrong() and all(question.replies.values())


@pytest.mark.slow
def test_a_place_or_a_length_does_not_give_the_right_option_away():
    chosen = [question for question in QUESTIONS if question.kind in (quiz.CHOOSE, quiz.FIRST)]
    places = [question.solved() for question in chosen]
    assert all(places.count(letter) < len(chosen) / 2 for letter in places)
    longest = [max(question.letters(), key=lambda key: len(question.options[key])) for question in chosen]
    assert sum(key not in question.wrong() for key, question in zip(longest, chosen, strict=True)) < len(chosen) / 2


def test_an_answer_that_is_no_option_is_refused():
    asked = quiz.Question(quiz.CHOOSE, "", "How many?", lambda: 3, "", {1: "one", 2: "two"}, card="")
    with pytest.raises(ValueError, match="How many"):
        asked.solved()
    ordered = quiz.Question(quiz.ORDER, "", "In which order?", lambda: [2], "", {1: "one", 2: "two"}, card="")
    with pytest.raises(ValueError, match="In which order"):
        ordered.solved()


@each_text_to_read
def test_a_lesson_ends_with_a_card_of_five_lines_a_picture_and_a_table(text):
    in_english = ".zh." not in text.name
    cells = [cell.source for cell in read_text(text).cells]
    [card] = [cell for cell in cells if cell.startswith(CARD if in_english else "### 卡片\n")]
    assert card == cells[-2] and cells[-1].startswith("**Next:**" if in_english else "**下一课：**")
    assert len(re.findall(r"^- ", card, re.MULTILINE)) == 5
    [picture] = re.findall(r"!\[.+\]\((.+)\)", card)
    assert (notebook_of(text).parent / picture).resolve() in DIAGRAMS.rglob("*.svg")
    assert len(re.findall(r"^\|:---", card, re.MULTILINE)) == 1
    _head, _line, *rows = re.findall(r"^\|.*\|$", card, re.MULTILINE)
    assert 3 <= len(rows) <= 10


@pytest.mark.slow
def test_every_lesson_has_its_card_on_the_page_of_cards():
    page = cards.page_of_cards()
    headings = re.findall(r"^## (\d\d[ab]?) ", page, re.MULTILINE)
    assert headings == [lesson.stem.partition("-")[0] for lesson in LESSONS] and CARD not in page
    assert cards.printed_cards().count("<img ") == cards.printed_cards().count("<table>") == len(LESSONS)


@pytest.mark.slow
def test_letters_in_printed_pictures_have_about_six_points():
    printed = re.findall(
        r'--picture: ([\d.]+)mm.*?<img src="\.\./diagrams/(\w+\.svg)"', cards.printed_cards(), re.DOTALL
    )
    assert len(printed) == len(LESSONS)
    for width, name in printed:
        units = float(ElementTree.parse(DIAGRAMS / name).getroot().attrib["viewBox"].split()[2])
        assert 10 * float(width) / units * 72 / 25.4 > 5.9 and float(width) <= 188, name


@pytest.mark.slow
def test_the_site_draws_the_pictures_of_the_cards():
    [page] = [page for page in pages_of_texts() if page.source == "teaching/cards.md"]
    assert page.body.count("<svg") == len(LESSONS) and "<img" not in page.body
    assert page.body.count('<div class="output scroll">') == len(LESSONS)


def test_prose_that_tells_how_to_predict_asks_nothing(tmp_path):
    prose, code = "Write your answer: `predict(" + "` asks.", 'predict("leo", "Where does it end?", ___)'
    cells = [nbformat.v4.new_markdown_cell(prose), nbformat.v4.new_code_cell(code)]
    lesson = tmp_path / "01-a.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), lesson)
    assert [(name, question) for name, (question, _) in questions_of(lesson).items()] == [("leo", "Where does it end?")]


def test_a_lesson_without_a_card_is_told(tmp_path):
    path = tmp_path / "03a-tiny.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Tiny")]), path)
    with pytest.raises(ValueError, match="03a-tiny.ipynb has 0 cells"):
        card_of(path)


def test_links_between_the_pages_lead_somewhere():
    for page in TEACHING.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
