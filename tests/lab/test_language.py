"""A second language: nothing is left in English by accident, code and meaning are those of the English lesson."""

import ast
import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

import minikafka
from minikafka.lab.course.build_lessons import fault_of, notebook_of
from minikafka.lab.course.diagrams import diagram
from minikafka.lab.course.places import COURSE, DIAGRAMS
from minikafka.lab.exercises import progress
from minikafka.lab.exercises.predict_call import predict_calls_in
from minikafka.lab.exercises.prediction import NOT_YET as UNANSWERED
from minikafka.lab.exercises.prediction import ___, known_beliefs, predict
from minikafka.lab.exercises.task import CORRECT, NOT_ATTEMPTED, NOT_YET, STUB, Verdict
from minikafka.lab.language.chosen import LANGUAGES, spoken_in, use_language
from minikafka.lab.lesson_folders import lesson_named
from minikafka.lab.rebuild.harnesses import ENGINE
from minikafka.lab.rebuild.trial import YOURS
from minikafka.lab.site import page
from minikafka.lab.site.page import html_of, page_of
from minikafka.lab.stepper.steps import method_of
from minikafka.lessons.high_watermark import exercises as high_watermark
from minikafka.lessons.high_watermark import rungs as ladder
from minikafka.lessons.high_watermark.exercises import acks_all_answers, least_end_offset
from minikafka.log.log import Log
from minikafka.witness.spoken import language, say
from tests.notebooks.read_once import read_text

ENGLISH = lesson_named("03-high-watermark").text
CHINESE = ENGLISH.with_suffix(".zh.py")
BOTH = [(text, text.with_suffix(".zh.py")) for text in (ENGLISH, lesson_named("03-high-watermark").rebuild)]
each_pair = pytest.mark.parametrize(("english", "translated"), BOTH, ids=["to read", "to rebuild"])
CATALOGUE = LANGUAGES["zh"].catalogue()
LETTER = "[\u4e00-\u9fff]"
ASKED = [*predict_calls_in(ENGLISH.read_text())]
RUNGS = (ladder.clamps, ladder.follows, ladder.increments)
WALKED = (Log.update_high_watermark, Log._update_high_watermark_metadata, Log.maybe_increment_high_watermark)


@pytest.fixture
def chinese():
    with spoken_in("zh"):
        yield


def literals_said():
    """What the code says in so many words: each first argument of `say`, or the two of a choice."""
    package = Path(minikafka.__file__).parent
    for path in [*package.glob("lab/**/*.py"), *package.glob("witness/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
                first = node.args[0]
                parts = (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,)
                yield from (part.value for part in parts if isinstance(part, ast.Constant))


def said_of_the_lesson():
    """What the pieces of this lesson say by other names than a literal."""
    yield from (NOT_ATTEMPTED, NOT_YET, CORRECT, STUB, UNANSWERED, ENGINE, YOURS)
    yield from ("Leader and followers", "LEO", "HW", "LSO", "log start", *page._SCRIPT_WORDS)
    for call in ASKED:
        yield from known_beliefs()[call.id].values()
    for exercise in high_watermark.EXERCISES:
        yield from (exercise.name, *exercise._hints, *(belief.words for belief in exercise.beliefs))
    for module in (least_end_offset, acks_all_answers):  # cases with names of their own
        yield from re.findall(r'^ +_(?:fetches|answered)\("([^"]+)"', inspect.getsource(module), re.MULTILINE)
    for rung in RUNGS:
        yield from (rung.name, rung.why, *rung.invariants, *rung._hints, *(each.words for each in rung.beliefs))
    for method in WALKED:
        yield from (step.text for step in method_of(method.__code__).steps)


@pytest.mark.slow
def test_all_that_the_lab_says_in_the_lesson_is_in_the_catalogue():
    said = {*literals_said(), *said_of_the_lesson()}
    assert len(said) > 200 and said - CATALOGUE.keys() == set()


def test_a_translation_has_the_same_places_for_values():
    for words, said in CATALOGUE.items():
        places = [sorted(re.findall(r"(?<!\{)\{(\w*)(?::[^}]*)?\}", each)) for each in (words, said)]
        assert places[0] == places[1], words
        codes = [set(re.findall(r"`[^`]+`", each)) for each in (words, said)]
        assert codes[0] == codes[1], words


def misspaced(words):
    """Where Chinese and Latin touch, where a half-width mark follows Chinese, where a full-width one has room."""
    code = re.sub(r"`[^`\n]+`", "`x`", words)
    code = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", code)
    code = re.sub(r"\[[^]]*\]", "[…]", code)  # an interval
    rules = (
        rf"{LETTER}[A-Za-z0-9`{{]|[A-Za-z0-9`}}]{LETTER}",
        rf"{LETTER}[,;:?!]",
        r"[，。：；？！、（）“”] +[^\s|]|[^\s|] +[，。：；？！、（）“”]",
    )
    return [found for rule in rules for found in re.findall(rule, code)]


@pytest.mark.slow
def test_chinese_and_latin_letters_are_spaced_by_one_rule():
    with_values = {"：", "，", "；", "。", "、"}
    assert [found for said in CATALOGUE.values() if said not in with_values for found in misspaced(said)] == []
    cells = [cell.source for cell in read_text(CHINESE).cells if cell.cell_type == "markdown"]
    lines = [line for cell in cells for line in re.sub(r"(\*\*[^*]+[：。]\*\*) ", r"\1", cell).split("\n")]
    assert [found for line in lines for found in misspaced(re.sub(r"：\* ", "：*", line))] == []


def test_no_paragraph_is_broken_into_lines():
    """A browser shows a line's end as a space, which Chinese doesn't have there."""
    for cell in read_text(CHINESE).cells:
        if cell.cell_type == "markdown":
            assert re.findall(r"(?m)^[^\n|#<-].*\n(?!\d\. )[^\n|#<-].*", cell.source) == []


def code_and_words(source):
    """The code of a cell without its strings, and the strings; those that are put together from values are left out."""
    tree = ast.parse(source.replace('use_language("zh")\n', "").replace("use_language, ", ""))
    words = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            node.values = [each for each in node.values if isinstance(each, ast.FormattedValue)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.append(node.value.removeprefix("../"))
            node.value = ""
    return ast.dump(tree), words


@each_pair
def test_a_notebook_has_the_cells_and_the_code_of_the_english_one(english, translated):
    cells = [read_text(text).cells for text in (english, translated)]
    assert [cell.cell_type for cell in cells[0]] == [cell.cell_type for cell in cells[1]]
    for cell, twin in zip(*cells, strict=True):
        if cell.cell_type == "code":
            (one, words), (other, said) = code_and_words(cell.source), code_and_words(twin.source)
            assert one == other
            assert [now for was, now in zip(words, said, strict=True) if now != was and not is_chinese(now)] == []
            continue
        for pattern in (r"`[^`\n]+`", r"^#+ ", r"^\d\. ", r"\d{2,}"):  # code, headings, rules, numbers
            one, other = (set(re.findall(pattern, each.source, re.MULTILINE)) for each in (cell, twin))
            assert one <= other, twin.source


def is_chinese(words):
    return re.search(LETTER, words) is not None


def test_each_question_has_the_id_of_the_english_one_and_finds_its_beliefs(chinese):
    asked = [*predict_calls_in(CHINESE.read_text())]
    assert [call.id for call in asked] == [call.id for call in ASKED]
    for call in asked:
        assert is_chinese(call.question)
        for wrong, words in known_beliefs()[call.id].items():
            told = predict(call.id, call.question, wrong, lambda: "something else")
            assert str(told).endswith(f"运行结果是 'something else'。 {CATALOGUE[words]}")
    assert str(predict(asked[0].id, asked[0].question, ___, lambda: 1)).endswith(CATALOGUE[UNANSWERED])


# What stays as it is: Kafka's messages and names, witnesses, results, columns of a table, code.
STAYS = re.compile(
    r"High watermark \(.*?\]\) update exceeds current log end offset|Apache Kafka|follower \d|"
    r"\(?segment \d+, byte \d+\)?|broker|leader|follower|offset|epoch|minikafka|spark|none|Kafka"
)


@each_pair
def test_no_english_is_shown_by_accident(english, translated):
    found = []
    for cell in nbformat.read(notebook_of(translated), as_version=4).cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            html = re.sub(r"<style>.*?</style>|<pre.*?</pre>", "", html, flags=re.DOTALL)
            shown_words = (output.get("text") or output["data"]["text/plain"]) + re.sub(r"<[^>]*>", "\n", html)
            told = re.sub(r"\d\. (with|if|return) .*", "", STAYS.sub("", shown_words))
            found += re.findall(r"(?<![\w.`])[A-Za-z][a-z]+ [a-z]+(?![\w.(])", told)
    assert found == []


def test_a_language_is_chosen_in_one_place_and_left_again():
    with spoken_in("zh"):
        assert (language(), say("nothing moved"), say("in no catalogue")) == ("zh-CN", "没有移动", "in no catalogue")
    assert (language(), say("nothing moved")) == ("en", "nothing moved")
    with pytest.raises(KeyError):
        use_language("tlh")


def test_a_diagram_comes_in_the_language_that_is_spoken(chinese):
    for source in sorted((DIAGRAMS / "zh").glob("*.dot")):
        assert diagram(source.stem).words == source.read_text().split("\n")[0].removeprefix("// ")


@pytest.mark.parametrize("words", ["First difference: x", "第一处差异：x", "Ex: not yet. No", "练习：还不对。不"])
def test_a_failed_lesson_is_not_stored_in_any_language(words):
    cell = SimpleNamespace(get=lambda *_: [nbformat.v4.new_output("stream", text=words)])
    assert fault_of(cell) == words


def test_progress_of_a_translated_lesson_counts_for_the_lesson(tmp_path, monkeypatch, chinese):
    (tmp_path / progress.LAID_OUT).write_text("{}")
    (tmp_path / "zh").mkdir()
    monkeypatch.chdir(tmp_path / "zh")
    asked = [*predict_calls_in(CHINESE.read_text())][1]
    predict(asked.id, asked.question, 10, lambda: 10)
    assert progress.read(tmp_path)["predictions"][ASKED[1].id]["outcome"] == "right"


def test_a_verdict_is_told_in_the_language_that_is_spoken(chinese):
    verdict = Verdict("Exercise 2, update_high_watermark", NOT_YET, "…")
    assert str(verdict) == "练习 2，update_high_watermark：还不对。…" and "还不对" in verdict._repr_html_()


def test_a_page_of_the_site_says_its_language_and_brings_the_words_of_the_script():
    cells = [nbformat.v4.new_markdown_cell("# 高水位\n\n## 1. 问题\n\n哪个 offset？")]
    made = page_of("zh-03-high-watermark", nbformat.v4.new_notebook(cells=cells), "zh")
    html = html_of(made, [(made.name, made.title)])
    assert '<html lang="zh-CN">' in html and "本页内容" in html and '"Answer": "作答"' in html
    english = html_of(page_of("x", nbformat.v4.new_notebook(cells=cells)), [])
    assert '<html lang="en">' in english and "words:" not in english


def test_the_lesson_speaks_in_the_terms_of_the_table():
    table = (COURSE.parent / "teaching" / "terms.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")][
        2:
    ]
    here = {row[0].split(" (")[0]: row[1].split("、") for row in rows}
    assert len(here) >= 60 and all(re.search("[✓–]$", row[3]) for row in rows)
    words = CHINESE.read_text() + "".join(CATALOGUE.values())
    for term in (
        "high watermark",
        "log end offset",
        "log start offset",
        "last stable offset",
        "roll",
        "fetch",
        "base offset",
    ):
        assert all(word in words for word in here[term]), term
    avoided = re.search(r"^Words .* avoids: (.*)\.$", table, re.MULTILINE)[1].split(", ")
    assert len(avoided) > 5 and [word for word in avoided if word in words] == []
