"""What every lesson owes its reader: the outline, true numbers, small cells, outputs in order, a text that is its
notebook.
"""

import ast
import re
from collections import defaultdict
from copy import deepcopy
from pathlib import Path
from types import CodeType

import pytest

import minikafka
from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.lab.course.build_lessons import fold_answers, texts
from minikafka.lab.course.places import COURSE
from minikafka.lab.exercises.predict_call import predict_call_of, predict_calls_in
from minikafka.lab.exercises.prediction import known_beliefs, predict
from minikafka.lab.grading.answer_key import told
from minikafka.lab.lesson_folders import lesson_folders
from minikafka.lab.stage import shop_night
from minikafka.lab.stepper.kafka_lines import kafka_line
from minikafka.lab.stepper.steps import method_of
from minikafka.lab.teaching.build import ANSWERS
from minikafka.lab.teaching.known_answers import read_answers
from tests.notebooks.outputs import code_cells
from tests.notebooks.read_once import notebook, read_text

PARTS = [
    "## 1. The question", "## 2. The picture", "## 3. The rules", "## 4. The source, walked",
    "## 5. Three witnesses", "## 6. Exercises", "## 7. Honesty box",
]  # fmt: skip
PACKAGE = Path(minikafka.__file__).parent
WALKED = re.compile(r"^ *(?:\d+\. +)?([A-Za-z_][\w.]*) (\d+\w?)\. (.*)$", re.MULTILINE)
"""A step in the words of a stored walk: function, number, then its text and, in brackets, what it did."""
CHECKS = re.compile(r"^(\w+)\.check\((\w+)\)$", re.MULTILINE)
TEXTS = texts()
LESSONS = [folder.text for folder in lesson_folders()]
REBUILDS = [folder.rebuild for folder in lesson_folders() if folder.rebuild]
each_text = pytest.mark.parametrize("text", TEXTS, ids=[text.stem for text in TEXTS])
each_lesson = pytest.mark.parametrize("text", LESSONS, ids=[text.stem for text in LESSONS])
each_rebuild = pytest.mark.parametrize("text", REBUILDS, ids=[text.stem for text in REBUILDS])
START = LESSONS[0]
WALKS = [text for text in LESSONS if text != START]
each_walk = pytest.mark.parametrize("text", WALKS, ids=[text.stem for text in WALKS])

# Numbers that stand in the prose without coming from a run: versions, limits of a question to take along, names.
NOT_FROM_A_RUN = {
    KAFKA_VERSION,
    "4.3",
    "4.1",
    "4.0.1",
    "4.0",
    "4.x",
    "3.9.1",
    "3.9",
    "3.x",
    "3.1",
    "3.0",
    "2.x",
    "2.7",
    "2.5",
    "2.2",
    "2.0",
    "0.10.1",
    "0.10",
    "200",
    "20",
    "12",
}


def code(cells):
    return [cell for cell in cells if cell.cell_type == "code"]


def _halves(text: Path, of: list[Path]) -> list[Path]:
    """The lesson itself, or the halves 04a and 04b of one that was too long: together they owe what one lesson owes."""
    return [each for each in of if each.stem[:2] == text.stem[:2]]


@each_text
def test_the_notebook_is_what_its_text_says(text):
    written = [(cell.cell_type, cell.id, cell.source) for cell in read_text(text).cells]
    assert [(cell.cell_type, cell.id, cell.source) for cell in notebook(text).cells] == written


@each_text
def test_cells_ran_in_order_and_without_an_error(text):
    cells = code(notebook(text).cells)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        for output in cell.outputs:
            assert output.output_type != "error", cell.source
            assert output.get("name") != "stderr", cell.source
            assert "widget-view" not in str(output.get("data", {}).keys())


@each_text
def test_what_answers_a_question_is_stored_folded(text):
    stored = deepcopy(notebook(text))
    found = [dict(cell.metadata) for cell in stored.cells]
    for cell in stored.cells:
        cell.metadata = {}
    fold_answers(stored)
    assert found == [dict(cell.metadata) for cell in stored.cells]


@each_lesson
def test_a_question_can_be_answered_late(text):
    """A reader may run the whole lesson, then answer: what a question asks for is not made anew by a cell below it."""
    trees = [ast.parse(cell.source) for cell in code(notebook(text).cells)]
    for number, tree in enumerate(trees):
        for call in (node for node in ast.walk(tree) if predict_call_of(node)):
            asked = {node.id for node in ast.walk(call.args[3]) if isinstance(node, ast.Name)}
            asked -= {node.id for node in _names_in(call.args[3])}
            assert not asked & set().union(*map(_names_made, trees[number + 1 :])), predict_call_of(call).id


def _names_made(tree: ast.AST) -> set[str]:
    """The names that a cell gives to something, but for those that only a comprehension knows."""
    targets = [each.target for each in ast.walk(tree) if isinstance(each, ast.comprehension)]
    inside = [node for target in targets for node in _names_in(target)]
    return {node.id for node in _names_in(tree) if node not in inside}


def _names_in(tree: ast.AST) -> list[ast.Name]:
    """Where something gets a name."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


@each_text
def test_outputs_tell_nothing_of_the_machine(text):
    for cell in code(notebook(text).cells):
        said = "".join(str(output.get("text", output.get("data", {}).get("text/plain", ""))) for output in cell.outputs)
        assert not re.search(r"/tmp/|/home/|/root/|0x[0-9a-f]{6,}|minikafka-own-", said), cell.source


@each_walk
def test_the_outline_has_seven_parts(text):
    headings = [line for cell in notebook(text).cells for line in cell.source.split("\n") if line.startswith("## ")]
    assert headings == PARTS


@each_walk
def test_each_part_has_what_it_owes(text):
    parts = _parts(notebook(text).cells)
    sources = {number: "\n".join(cell.source for cell in cells) for number, cells in parts.items()}
    for promise in ("**Time:**", "**Before:**", "Afterwards you can decide", "What goes wrong"):
        assert promise in sources[1]
    assert "diagram(" in sources[2] and re.search(r"^1\. .*\n2\. ", sources[3], re.MULTILINE)
    assert len(code(parts[3])) >= 1 and "step_through(" in sources[4] and "predict(" in sources[4]
    assert sum(half.read_text(encoding="utf-8").count("erratum(") for half in _halves(text, WALKS)) >= 3
    assert "three_witnesses(" in sources[5] and "planted(" in sources[5] and "predict(" in sources[5]
    assert f"]({text.stem}-rebuild.ipynb)" in sources[6] and len(parts[6]) == 1
    assert "| Same as Kafka | Simpler than Kafka | Not shown here |" in sources[7]
    assert "<details>" in sources[7] and "**Next:**" in sources[7]


@each_rebuild
def test_a_notebook_to_rebuild_has_what_it_owes(text):
    cells = read_text(text).cells
    head, *rest = (cell.source for cell in cells)
    lesson = text.stem.removesuffix("-rebuild")
    for promise in ("**Time:**", "**Before:**", f"]({lesson}.ipynb)", "`check`", "`hint()`", "`solution()`"):
        assert promise in head
    assert cells[1].cell_type == "code" and "import" in rest[0]
    exercises, ladder, rungs = "\n".join(rest).partition("## Rungs")
    if text == REBUILDS[0]:
        assert len(CHECKS.findall(exercises)) == 2 and "in Spark.**" in exercises and not ladder
        return
    assert CHECKS.findall(exercises) and len(CHECKS.findall(rungs)) <= 6
    halves = [half.read_text(encoding="utf-8").partition("## Rungs")[0] for half in _halves(text, REBUILDS)]
    with_spark = sum(half.count("in Spark.**") for half in halves)
    assert 3 <= sum(len(CHECKS.findall(half)) for half in halves) <= 5 * len(halves) and with_spark >= 2


@each_lesson
def test_no_question_of_part_5_is_judged_by_what_an_earlier_part_has_left(text):
    """Where a witness fails, its cell binds nothing: a name of an earlier part would then be taken for the answer.

    `found` may be bound before: nothing else that bears this name has a `first_difference`.
    """
    parts = _parts(notebook(text).cells)
    names = (node for number in range(1, 5) for node in _nodes(parts[number], ast.Name))
    earlier = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    runs = [node.args[3] for node in _nodes(parts[5], ast.Call) if predict_call_of(node)]
    assert runs
    judged_by = {name.id for run in runs for name in ast.walk(run) if isinstance(name, ast.Name)}
    assert earlier & judged_by <= {"found"}


def test_start_here_has_parts_of_its_own():
    """It walks through no mechanism: it has no rules, no planted bug and no honesty box. The rest it owes as well."""
    parts = _parts(notebook(START).cells)
    sources = {number: "\n".join(cell.source for cell in cells) for number, cells in parts.items()}
    for promise in ("**Time:**", "**Before:**", "Afterwards you can decide"):
        assert promise in sources[1]
    assert all(f"## {number}. " in sources[number] for number in range(1, 8))
    assert (
        sources[1].count("predict(") == sources[2].count("predict(") == 1
        and "step_through(" in sources[3]
        and "predict(" in sources[3]
    )
    assert "three_witnesses(" in sources[5] and "predict(" in sources[5]
    assert f"]({START.stem}-rebuild.ipynb)" in sources[6]
    assert "my_progress()" in sources[7] and "**Next:**" in sources[7]


def test_start_here_leads_to_the_lessons_in_their_order():
    named = re.findall(r"^# - \[(\d\d[ab]? [^]]+)\]\((\d\d[ab]?-[^)]+)\)", START.read_text(), re.MULTILINE)
    titles = [notebook(walk).cells[0].source.partition("\n")[0].removeprefix("# ") for walk in WALKS]
    lessons = zip(WALKS, titles, strict=True)
    assert named == [(f"{walk.stem.partition('-')[0]} {title}", f"{walk.stem}.ipynb") for walk, title in lessons]


def test_the_table_of_old_places_names_methods_of_kafka():
    rows = re.findall(r"^# \| `.*\|$", START.read_text(), re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+\.\w+)`", row.split("|")[2])]
    assert len(rows) >= 12 and len(named) > len(rows)
    assert [name for name in named if kafka_line(name) is None] == []


@pytest.mark.parametrize("text", [*LESSONS, *REBUILDS], ids=lambda text: text.stem)
def test_code_cells_are_small_and_define_no_helpers(text):
    for cell in code(notebook(text).cells):
        lines = [line for line in cell.source.split("\n") if line.strip() and not line.startswith("#")]
        nodes = list(ast.walk(ast.parse(cell.source)))
        texts = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        assert len(lines) - sum(node.end_lineno - node.lineno for node in texts) <= 10, cell.source
        assert all("return ___" in cell.source for _ in functions), f"a helper belongs to minikafka.lab: {cell.source}"


@each_rebuild
def test_what_a_function_takes_is_told_in_lines_that_no_page_wraps(text):
    told = [words for cell in code(read_text(text).cells) for words in re.findall(r'(?s)""".*?"""', cell.source)]
    assert told and [line for words in told for line in words.split("\n") if len(line) > 112] == []


@pytest.mark.parametrize("text", [*LESSONS, *REBUILDS], ids=lambda text: text.stem)
def test_every_number_in_the_prose_stands_in_a_run(text):
    """In parts 4 and 5, and in the story of part 1: each number of two digits or more is in the code or an output so
    far.
    """
    seen = ""
    for cell in notebook(text).cells:
        if cell.cell_type == "code":
            seen += cell.source + "".join(_words(output) for output in cell.outputs)
            continue
        prose = re.sub(r"\*\*(Time|Exercise)[^*]*\*\*.*|\[[^]]*\]\([^)]*\.ipynb\)", "", cell.source)
        numbers = set(re.findall(r"(?<![\w.])\d[\d.,]*\d(?![\w])", prose))
        for number in numbers - NOT_FROM_A_RUN:
            plain = number.replace(",", "")
            assert plain in seen.replace(",", "") or plain in _code_after(text, cell), f"{number} in: {cell.source}"


@each_lesson
def test_every_widget_has_a_static_picture(text):
    for cell in code(notebook(text).cells):
        if re.search(r"\.(play|drag)\(\)$|^search_index|^microscope", cell.source, re.MULTILINE):
            shown = [output for output in cell.outputs if "text/html" in output.get("data", {})]
            assert shown, cell.source
            html = "".join(shown[-1]["data"]["text/html"])
            assert ("<img" in html and "alt=" in html) or "<pre>" in html, cell.source


@pytest.mark.slow
@pytest.mark.in_parts(4)
@each_lesson
def test_predictions_can_be_answered_and_wrong_answers_are_named(text, spark, monkeypatch):
    """Parts 1 to 4 run with every prediction answered: wrongly, by each belief, and then by what the run gave."""
    monkeypatch.chdir(COURSE)
    # The Python processes of a Spark session that is there already stay in the directory in which it was started.
    monkeypatch.setattr(shop_night, "NIGHT", COURSE / "data" / "night")
    asked, known = [], read_answers(ANSWERS)[text.stem]

    def answered(name, question, answer, run):
        actual = predict(name, question, object(), run).actual
        for wrong, words in known_beliefs()[name].items():
            if wrong == actual:  # right here, and wrong where the reader has chosen another byte
                assert "BYTE" in question
                continue
            prediction = predict(name, question, wrong, lambda: actual)
            assert prediction.state == "wrong" and str(prediction).endswith(words)
        assert predict(name, question, actual, lambda: actual).state == "right"
        assert told(actual) == known[name], "the teachers' page has another answer: run `make teaching` for the lesson"
        asked.append(name)

    names = {}
    for cell in read_text(text).cells:
        if cell.source.startswith("## 5."):
            break
        if cell.cell_type == "code":
            names["answered"] = answered
            exec(cell.source.replace("predict(\n", "answered(\n"), names)
    assert len(asked) >= 3 and set(asked) < set(known_beliefs())


@each_rebuild
def test_the_solutions_solve_every_exercise_of_the_lesson(text):
    solutions = text.with_suffix(".solutions.py")
    names = re.findall(r"^(\w+)\.check\(", text.read_text(), re.MULTILINE)
    outputs = "\n".join(_words(output) for cell in code(notebook(solutions).cells) for output in cell.outputs)
    assert names == re.findall(r"^(\w+)\.check\(", solutions.read_text(), re.MULTILINE)
    assert outputs.count(": correct.") == len(names) and "not yet" not in outputs


def _nodes(cells, kind):
    return [node for cell in code(cells) for node in ast.walk(ast.parse(cell.source)) if isinstance(node, kind)]


def _parts(cells):
    parts, number = {}, 0
    for cell in cells:
        match = re.search(r"^## (\d)\. ", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else None
        number = int(match.group(1)) if match else number
        parts.setdefault(number, []).append(cell)
    return parts


def _words(output):
    return str(output.get("text", "")) + str(output.get("data", {}).get("text/plain", ""))


def _code_after(text, cell):
    """A question may name what the next cells are about to do."""
    cells = notebook(text).cells
    place = [other.id for other in cells].index(cell.id)
    following = [c for c in cells[place + 1 : place + 4] if c.cell_type == "code"]
    return "".join(c.source + "".join(map(_words, c.outputs)) for c in following).replace(",", "")


@each_lesson
def test_no_answer_stands_above_its_question(text):
    """Looked at is the text since the question before; a name may stand there among others to choose from."""
    answers, above = read_answers(ANSWERS)[text.stem], ""
    for cell in read_text(text).cells:
        if cell.cell_type == "markdown":
            above += f"{cell.source}\n"
            continue
        for call in predict_calls_in(cell.source):
            answer = answers[call.id].strip("'\"")
            forms = {answer, f"{int(answer):,}"} if answer.lstrip("-").isdigit() else {answer}
            stands = {
                form for form in forms if len(form) > 2 and re.search(rf"(?<![\w,.-]){re.escape(form)}(?![\w,])", above)
            }
            names = set(re.findall(r"\b[A-Za-z]+Exception\b|\b[A-Z]+(?:_[A-Z]+)+\b", above))
            is_a_choice = answer in names and len(names) > 1
            assert not stands or is_a_choice or answer in call.question or answer in ("True", "False"), (
                f"{call.id}: {answer} stands above the question"
            )
            above = ""


def functions_in(code):
    """The functions compiled in `code`, at any depth."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from functions_in(part)


def walked_steps(printed=False):
    """Of each function that stored walks go through, what they say: {name: {(step, text and what it did)}}.

    With `printed`, also of the frames that a cell prints.
    """
    said = defaultdict(set)
    for text in WALKS:
        for cell in code(notebook(text).cells):
            for output in cell.outputs:
                shown = output.get("data", {}).get("text/plain", "") + (output.get("text", "") if printed else "")
                for name, number, sentence in WALKED.findall(shown):
                    said[name].add((number, sentence))
    return said


def test_stored_walks_go_through_the_code_as_it_is_now():
    walked, steps = walked_steps(printed=True), defaultdict(set)
    heads = re.compile(rf"^ *def ({'|'.join({name.rpartition('.')[2] for name in walked})})\(", re.MULTILINE)
    for path in PACKAGE.rglob("*.py"):
        if heads.search(source := path.read_text()):
            for function in functions_in(compile(source, str(path), "exec")):
                method = method_of(function) if function.co_qualname in walked else None
                steps[function.co_qualname] |= {(step.number, step.text) for step in method.steps} if method else set()
    stale = [
        (name, number, line)
        for name, said in walked.items()
        for number, line in sorted(said)
        if not any(number == now and f"{line} [".startswith(f"{text} [") for now, text in steps[name])
    ]
    assert len(walked) > 50 and not stale, "make notebooks builds these lessons anew"


def test_walks_are_told_in_words_not_in_code():
    told = [(name, sentence.partition(" [")[0]) for name, said in walked_steps().items() for _, sentence in said]
    assert len(told) > 300 and [each for each in told if is_code(each[1])] == []


def is_code(sentence: str) -> bool:
    """Whether the words are Python, as those of a step are where its method has no numbered comments."""
    try:
        return bool(ast.parse(f"{sentence} pass" if sentence.endswith(":") else sentence).body)
    except SyntaxError:
        return False


@pytest.mark.parametrize(
    ("sentence", "python"),
    [("size = self.log.size_in_bytes", True), ("if size > 0:", True), ("write the bytes", False), ("Write.", False)],
)
def test_code_is_told_from_words(sentence, python):
    assert is_code(sentence) is python


def test_styles_that_stored_pieces_repeat_are_little_of_the_outputs():
    stored = repeated = 0
    for path in COURSE.rglob("*.ipynb"):
        shown = [text for _, outputs in code_cells(path) for _, text in outputs]
        styles = [style for text in shown for style in re.findall(r"<style>.*?</style>", text, re.DOTALL)]
        stored += sum(map(len, shown))
        repeated += sum(map(len, styles)) - sum(map(len, set(styles)))
    assert 0 < repeated < stored * 0.06
