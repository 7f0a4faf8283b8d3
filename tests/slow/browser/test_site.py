"""The site: pages that answer without a kernel, in a real browser, on narrow and wide windows, by keyboard, in the dark."""

import gzip
import json
import re
import shutil
from base64 import b64decode
from pathlib import Path

import nbformat
import pytest

from minikafka.lab.course.lesson_notebooks import lessons, notebooks, translations
from minikafka.lab.course.places import COURSE
from minikafka.lab.lesson_folders import REBUILD
from minikafka.lab.site.build import MARK, main, pages_of, write_site
from minikafka.lab.site.live_site import is_live, why_not_live
from minikafka.lab.site.own_folder import FolderError, require_free
from minikafka.lab.site.page import page_of, page_of_markdown
from minikafka.lab.site.recorded_run import RECORD, record_of
from minikafka.lab.site.search_entries import search_script
from minikafka.lab.site.texts import pages_of_texts
from minikafka.lab.teaching.slides.build import decks_of, write_slides

LESSON = [
    "# A small lesson\n\n*What it is about.*\n\n## 1. The question\n\nWhere does the log end? See [the other](99-other.ipynb), [solutions](solutions) and `a.very.long.name.in_code(that_has, no_blank)`.\n",
    "from minikafka.lab import OffsetRuler, fresh_log, predict, records, step_through, ___",
    "| `Log.maybeRoll` | why it is so |\n|---|---|\n| `Log.maybeRoll` | three records with quite a long explanation beside them, <b>bold</b> |",
    "log = fresh_log()\nruler = OffsetRuler(log, 'Two appends').snap('nothing yet')\nprint('log end', log.log_end_offset)",
    "predict('log-end-after-3', 'The log end after 3 records?', ___, lambda: log.append_as_leader(records(3), leader_epoch=0).last_offset + 1,\n"
    "        {2: 'That is the last offset.'})",
    "ruler.snap('three records').play()",
    "step_through(log.append_as_leader, records(1), leader_epoch=0, watch=log, into={'Log._append'}).play()",
    "## 2. Unknown words\n\nThe word *xylophone* stands here and nowhere else.",
]


def notebook_of(cells):
    new = nbformat.v4
    return new.new_notebook(
        cells=[new.new_markdown_cell(c) if c[0] in "#|" else new.new_code_cell(c) for c in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    paths = [place / "98-small.ipynb", place / "99-other.ipynb"]
    nbformat.write(notebook_of(LESSON), paths[0])
    nbformat.write(notebook_of(["# Another lesson\n\n*Short.*\n\nA line."]), paths[1])
    folder = place / "pages"
    write_site(folder, *pages_of(paths))
    return folder


@pytest.fixture
def visit(chromium, site):
    """Opens a page of the site as a visitor does: from the disk, allowed to fetch nothing else."""
    contexts = []

    def open_page(name, width=1280, scheme="light"):
        context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.failures = []
        page.on("pageerror", lambda error: page.failures.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith("file://") or page.failures.append(asked.url))
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_page
    for context in contexts:
        assert [failure for page in context.pages for failure in page.failures] == []
        context.close()


@pytest.mark.in_parts(2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_nothing_sticks_out_and_axe_finds_nothing(visit, width, scheme, share):
    """Axe takes seconds: in each run it looks at one of the pages."""
    from axe_playwright_python.sync_playwright import Axe

    names = ("index", "98-small", "glossary", "docs-commands", "benchmarks")
    for name in names:
        page = visit(name, width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if name in share(names, 5):
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", [360, 730, 930, 950, 1250])
def test_a_picture_is_shown_as_wide_as_it_was_drawn(visit, width):
    page = visit("98-small", width)
    shown = page.evaluate("[...document.querySelectorAll('.mk svg')].map(e => [e.clientWidth, e.width.baseVal.value])")
    assert shown and all(now == drawn for now, drawn in shown)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_folded_table_looks_as_one_that_is_not_folded(visit):
    page = visit("98-small")
    page.evaluate("""() => {
        const table = '<div class="output scroll"><table class="asked"><tr><td>1</td></tr></table></div>';
        const both = `${table}<details open><summary>folded</summary>${table}</details>`;
        document.querySelector("article").insertAdjacentHTML("beforeend", both);
    }""")
    plain, folded = page.evaluate("""[...document.querySelectorAll(".asked td")].map(cell => {
        const { padding, borderBottomWidth, textAlign } = getComputedStyle(cell);
        return { padding, borderBottomWidth, textAlign };
    })""")
    assert folded == plain and plain["borderBottomWidth"] == "1px"


def test_what_a_cell_prints_is_not_cut_on_a_wide_page(visit):
    page = visit("98-small", 1280)
    page.evaluate("""() => document.querySelector("article").insertAdjacentHTML(
        "beforeend", ["output", "words"].map(kind => `<pre class="${kind}">${"word ".repeat(99)}</pre>`).join(""))""")
    assert page.evaluate("[...document.querySelectorAll('pre')].every(pre => pre.scrollWidth <= pre.clientWidth)")


def test_the_slider_moves_by_mouse_and_by_keyboard(visit):
    page = visit("98-small")
    page.get_by_text("What the run shows").click()
    ruler, walk = page.locator(".player").all()
    assert "frame 2 of 2" in ruler.inner_text() and "LEO 0 → 3" in ruler.inner_html()
    ruler.get_by_role("button", name="◀ back").click()
    assert "frame 1 of 2" in ruler.inner_text() and "nothing yet" in ruler.locator("svg").inner_html()
    slider = walk.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert "frame 2 of" in walk.inner_text() and "Log._append 2." in slider.get_attribute("aria-valuetext")
    walk.get_by_text("this frame as text").click()
    assert "append_info = LogAppendInfo" in walk.locator("pre.words").inner_text()
    slider.focus()
    page.keyboard.press("End")
    assert "returned" in walk.locator(".picture").inner_text()


def test_a_prediction_is_judged_and_kept(visit):
    page = visit("98-small")
    assert "3" not in page.locator(".question").inner_text().replace("3 records", "")
    for said, verdict in (("2", "the run gives 3. That is the last offset."), (" 3 ", "You said 3, and so it is.")):
        page.get_by_label("The log end after 3 records?").fill(said)
        page.keyboard.press("Enter")
        assert verdict in page.get_by_role("status").inner_text()
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert "and so it is" in page.get_by_role("status").inner_text()
    page.goto(page.url.replace("98-small", "index"))
    page.wait_for_selector("body[data-ready]")
    assert [line.inner_text().strip() for line in page.locator(".done").all()] == ["1 of 1 predictions made", ""]


def test_what_answers_a_question_is_folded_until_it_is_answered(visit):
    page = visit("98-small")
    [answering] = page.locator("details.after").all()
    assert "What the run shows" in answering.inner_text() and answering.locator("svg").first.is_hidden()
    page.get_by_label("The log end after 3 records?").fill("2")
    page.keyboard.press("Enter")
    assert answering.locator("svg").first.is_visible()
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.locator("details.after svg").first.is_visible(), "the answer was kept"


def test_an_answer_that_an_earlier_page_kept_by_the_question_is_kept_by_the_id(visit):
    page = visit("98-small")
    page.evaluate("localStorage.setItem('minikafka 98-small: The log end after 3 records?', '3')")
    for _ in range(2):
        page.reload()
        page.wait_for_selector("body[data-ready]")
        assert "and so it is" in page.get_by_role("status").inner_text()
        assert page.evaluate("Object.keys(localStorage)") == ["minikafka 98-small: log-end-after-3"]


def test_the_search_finds_a_section_by_keyboard(visit):
    page = visit("index")
    page.keyboard.press("/")
    page.keyboard.type("xylophone small")
    assert page.locator("#found li").count() == 1
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_url("**/98-small.html#2-unknown-words")
    page.keyboard.press("/")
    page.keyboard.type("no such word anywhere")
    assert "0 sections" in page.locator("#found").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#found").is_hidden()


def test_the_documentation_is_found_from_everywhere_and_by_the_search(visit):
    page = visit("98-small", 390)
    page.get_by_role("link", name="Documentation").click()
    page.wait_for_url("**/index.html#documentation")
    page.get_by_role("link", name="Architecture").click()
    page.wait_for_url("**/docs-architecture.html")
    page.get_by_role("link", name="The way of one batch").click()
    page.wait_for_url("**/docs-rooms-a_batch.html")
    page.keyboard.press("/")
    page.keyboard.type("failOnDataLoss")
    assert page.locator("#found a[href^=docs-spark]").count() >= 1


def test_code_is_not_cut_on_a_wide_window_and_the_contents_stand_beside_it(visit):
    page = visit("docs-spark", 1400)
    cut = "[...document.querySelectorAll('pre.code')].filter((box) => box.scrollWidth > box.clientWidth).length"
    assert page.evaluate(cut) == 0 and page.locator("pre.code .py-kn").count() > 1
    assert page.get_by_role("link", name="Through Spark Connect").is_visible()
    assert not visit("docs-spark", 800).get_by_role("link", name="Through Spark Connect").is_visible()


def test_a_line_of_code_longer_than_the_page_is_wrapped(visit):
    box = visit("docs-spark", 1400).locator("pre.code").first
    height = box.evaluate("(box) => { box.textContent = 'x'.repeat(120); return box.clientHeight; }")
    assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    assert box.evaluate("(box) => { box.textContent = 'x'.repeat(240); return box.clientHeight; }") > height
    assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth")


def test_the_theme_is_chosen_and_kept_and_links_lead_on(visit):
    page = visit("98-small")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Dark or light").click()
    assert page.evaluate(colour) != light
    page.get_by_text("Next: Another lesson").click()
    page.wait_for_url("**/99-other.html")
    assert page.evaluate(colour) != light


def test_a_page_without_its_script_can_be_read(chromium, site):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "98-small.html").as_uri())
    assert "The log end after 3 records?" in page.inner_text("main") and "three records" in page.inner_text("main")
    context.close()


@pytest.mark.slow
def test_pages_are_light_and_ask_nobody(site):
    for path in site.glob("*.html"):
        html = path.read_text(encoding="utf-8")
        assert len(html) < 1_500_000
        assert not re.findall(
            r'(?:src|href)="(?!#|[\w.-]+(?:#|"))(?!https://github\.com/(?:apache/kafka|containers/bubblewrap))[^"]*"',
            html,
        )


@pytest.mark.slow
def test_each_link_within_the_site_leads_to_a_page_and_a_place_that_exist(site):
    pages = {path.name: path.read_text(encoding="utf-8") for path in site.glob("*.html")}
    places = {name: set(re.findall(r'\bid="([^"]+)"', html)) for name, html in pages.items()}
    for name, html in pages.items():
        for target, anchor in re.findall(r'(?:src|href)="(?!https://)([^"#]*)#?([^"]*)"', html):
            assert not target or (site / target).exists(), f"{name} links to {target}"
            assert not anchor or anchor in places[target or name], f"{name} links to {target}#{anchor}"
    assert 'href="docs-rooms-record.html"' in pages["docs-architecture.html"]
    assert 'href="docs-spark.html"' in pages["docs-rooms-spark.html"]


@pytest.mark.slow
def test_every_text_of_the_documentation_is_a_page():
    sources = {page.source for page in pages_of_texts()}
    home = COURSE.parent
    assert {path.relative_to(home).as_posix() for path in (home / "docs").rglob("*.md")} <= sources
    assert {"notebooks/glossary.md", "benchmarks/README.md", "teaching/guide.md"} <= sources


@pytest.mark.slow
def test_links_lead_to_pages_of_any_folder_and_of_others_the_words_are_left(tmp_path):
    words = (
        "# Lone\n\n[a](../spark.md#read) [b](../../minikafka/log/log.py) [c](https://kafka.apache.org/x.md) [d](#lone)"
    )
    write_site(tmp_path / "site", [page_of_markdown("lone", words, "docs/rooms/lone.md")], [""])
    html = (tmp_path / "site" / "lone.html").read_text()
    assert (
        '<a href="docs-spark.html#read">a</a> b <a href="https://kafka.apache.org/x.md">c</a> <a href="#lone">d</a>'
        in html
    )


@pytest.mark.parametrize(
    "path",
    [path for path in [*notebooks(), *translations()] if path.stem.endswith(REBUILD)],
    ids=lambda path: path.parent.name + path.stem,
)
def test_nobody_waits_for_spark_without_a_kernel(path):
    notebook = nbformat.read(path, as_version=4)
    text = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    waits = re.compile("its own kernel|starts Spark|自己的内核|唤醒 Spark")
    page = page_of(path.stem, notebook)
    assert waits.search(text) and not waits.search(page.body)
    assert "___" in page.body


@pytest.mark.slow
def test_the_building_says_at_once_how_long_it_takes_and_how_far_it_is(tmp_path, monkeypatch, capsys):
    paths = [tmp_path / "98-one.ipynb", tmp_path / "98-two.ipynb", tmp_path / "99-three.ipynb"]
    for path in paths:
        nbformat.write(notebook_of(["# A lesson\n\n*Short.*\n\nA line."]), path)
    monkeypatch.setattr("minikafka.lab.site.build.notebooks", lambda: paths)
    main([str(tmp_path / "site"), "98"], standalone_mode=False)
    told = capsys.readouterr()
    said = ["notebooks to run: 2; minutes that it takes: about 1", "1 of 2: 98-one", "2 of 2: 98-two"]
    assert told.err.splitlines() == said and told.out == f"{tmp_path}/site/index.html: 2 pages\n"
    assert (tmp_path / "site" / "98-two.html").exists()


@pytest.mark.slow
def test_a_page_holds_what_the_run_recorded(site):
    html = (site / "98-small.html").read_text(encoding="utf-8")
    records = json.loads(gzip.decompress(b64decode(re.search(r'records: "([^"]+)"', html)[1])))
    assert [record["kind"] for record in records] == ["question", "player", "player"]
    assert records[0] == {
        "kind": "question", "id": "log-end-after-3", "question": "The log end after 3 records?",
        "answer": "3", "beliefs": [["2", "That is the last offset."]],
    }  # fmt: skip
    assert len(records[2]["frames"]) == len(records[2]["words"]) > 10
    assert "predict(" not in html.split("<main", 1)[1]
    assert "<td><code>Log.<wbr>maybe<wbr>Roll</code></td>" in html


@pytest.mark.slow
def test_only_a_site_is_replaced(tmp_path):
    page = page_of_markdown("lone", "# Lone\n\nwords")
    folder = tmp_path / "a" / "site"
    write_site(folder, [page, page_of_markdown("old", "# Old\n\nwords")], ["alone", "old"])
    assert (folder / "old.html").exists()
    write_site(folder, [page], ["alone"])
    assert not (folder / "old.html").exists() and (folder / MARK).exists()
    assert [path.name for path in folder.parent.iterdir()] == ["site"]
    for name, make in (
        ("full", lambda path: (path.mkdir(), (path / "mine.txt").write_text("mine"))),
        ("file", lambda path: path.write_text("mine")),
        ("link", lambda path: path.symlink_to(folder)),
    ):
        make(tmp_path / name)
        with pytest.raises(FolderError, match=name):
            require_free(tmp_path / name, MARK)
    for parent, why in ((tmp_path / "file", "Not a directory"), (Path("/proc"), "")):
        with pytest.raises(FolderError, match=f"new cannot be made: {parent}: {why}"):
            require_free(parent / "new", MARK)
    shutil.rmtree(folder)
    folder.mkdir()
    write_site(folder, [page], ["alone"])


@pytest.mark.slow
def test_the_start_page_shows_a_lesson_and_its_notebook_to_rebuild_in_one_row(tmp_path):
    links = {"98-small": "[part 6](98-small-rebuild.ipynb)", "98-small-rebuild": "[the lesson](98-small.ipynb)"}
    pages = [
        page_of_markdown(name, f"# Page {name}\n\n{link}", f"notebooks/{name}.ipynb") for name, link in links.items()
    ]
    write_site(tmp_path / "site", [*pages, page_of_markdown("99-other", "# Other\n\nwords")], ["A", "B", "C"])
    index = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    rows = re.findall("<li>(.*?)</li>", index.partition('<ol class="lessons">')[2].partition("</ol>")[0])
    assert [re.findall(r'href="([^"]+)"', row) for row in rows] == [
        ["98-small.html", "98-small-rebuild.html"],
        ["99-other.html"],
    ]
    for name, other in (("98-small", "98-small-rebuild"), ("98-small-rebuild", "98-small")):
        body = (tmp_path / f"site/{name}.html").read_text(encoding="utf-8").partition("<main")[2].partition("</main")[0]
        assert f'href="{other}.html"' in body


@pytest.mark.slow
def test_a_page_leads_to_the_live_lesson_or_says_why_there_is_none(tmp_path):
    (tmp_path / "live").mkdir()
    names = ["07-loading", "13b-log-audit", "14-wire", "14-wire-rebuild", "zh-03-high-watermark"]
    pages = [page_of_markdown(name, f"# {name}", f"notebooks/{name.replace('zh-', 'zh/')}.ipynb") for name in names]
    write_site(tmp_path / "site", pages, names, tmp_path / "live")
    written = [(tmp_path / f"site/{name}.html").read_text(encoding="utf-8") for name in names]
    said = [re.sub("<.*?>", "", "".join(re.findall('<p class="live">(.*?)</p>', page))) for page in written]
    assert (
        said[0] == "Open it live" and 'href="live/notebooks/index.html?path=notebooks/07-loading.ipynb"' in written[0]
    )
    assert "its cells need Spark" in said[1] and "its cells need sockets" in said[2] == said[3]
    assert 'href="live/notebooks/index.html?path=notebooks/zh/03-high-watermark.ipynb"' in written[4]
    assert "press <em>Open it live</em>" in (tmp_path / "site/index.html").read_text(encoding="utf-8")


def test_every_page_of_a_lesson_has_a_button_or_says_why_not():
    for path in [*notebooks(), *translations()]:
        assert is_live(path.stem) != bool(why_not_live(path.stem)), path


@pytest.mark.slow
def test_a_link_in_a_translation_stays_in_its_language(tmp_path):
    lesson = notebook_of(["# A page\n\n[part 6](98-small-rebuild.ipynb), [in English](../98-small-rebuild.ipynb)"])
    name = "98-small-rebuild"
    write_site(tmp_path / "site", [page_of(name, lesson), page_of(f"zh-{name}", lesson, "zh")], ["A", "B"])
    body = (tmp_path / f"site/zh-{name}.html").read_text(encoding="utf-8").partition("<main")[2]
    links = [(f"zh-{name}.html", "part 6"), (f"{name}.html", "in English")]
    assert re.findall(r'href="([^"]+)">(part 6|in English)', body) == links


def test_bad_input_is_one_line(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path), "03-high"], standalone_mode=False)
    assert "is not empty, and no earlier site" in str(ended.value)
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "new"), "no-such-lesson"])
    assert ended.value.code == 2 and "no lesson's name contains no-such-lesson" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_headings_are_places_and_tell_themselves_apart():
    page = page_of_markdown("x", "# One\n\ntext <b>bold</b>\n\n## Same\n\na\n\n## Same\n\nb `code`\n")
    assert [heading.anchor for heading in page.headings] == ["one", "same", "same~2"]
    assert page.sections[2][1] == "b code" and page.sections[0][1] == "text bold"
    assert "</script" not in search_script([page_of_markdown("y", "# T\n\n`</script><script>`")]).lower()
    with pytest.raises(ValueError, match="x has no heading"):
        page_of_markdown("x", "words")


def test_what_has_no_record_is_shown_as_it_is():
    assert record_of(3) is None
    failure = nbformat.v4.new_output("error", ename="ZeroDivisionError", evalue="<by zero>")
    notebook = notebook_of(["# X", "1 / 0"])
    notebook.cells[1].outputs = [failure]
    body = page_of("x", notebook).body
    assert "ZeroDivisionError: &lt;by zero&gt;" in body and RECORD not in body


# Goes through a deck, step by step, and says where a slide or its figure has no room for what it holds.
CLIPPED = """() => {
    const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
    const found = [];
    press("Home");
    for (let step = 0; step < 12; step++, press("ArrowRight"))
        for (const part of document.querySelectorAll(".slide.now, .slide.now > .figure"))
            if (part.scrollHeight > part.clientHeight + 1 || part.scrollWidth > part.clientWidth + 1)
                found.push(`slide ${document.querySelector(".slide.now").id}: ${part.className}`);
    return found;
}"""


def test_slides_fit_the_screen_and_go_on_by_keyboard(chromium, tmp_path):
    from axe_playwright_python.sync_playwright import Axe

    decks = decks_of(lessons())
    write_slides(tmp_path / "slides", decks)
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    failures = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("request", lambda asked: asked.url.startswith("file://") or failures.append(asked.url))
    for deck in decks:
        page.goto((tmp_path / "slides" / f"{deck.name}.html").as_uri())
        failures += [f"{deck.name}, {what}" for what in page.evaluate(CLIPPED)]
        assert page.locator("#number").inner_text() == "10 / 10"
    page.reload()
    page.keyboard.press("Home")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    assert page.locator("#number").inner_text() == "7 / 10" and not page.locator(".now .given").is_visible()
    page.keyboard.press("ArrowRight")
    assert page.locator("#number").inner_text() == "7 / 10" and page.locator(".now .given").is_visible()
    page.keyboard.press("n")
    assert page.locator(".now .notes").is_visible()
    for width, scheme in ((1280, "dark"), (360, "light")):
        page.set_viewport_size({"width": width, "height": 720})
        page.emulate_media(color_scheme=scheme)
        for key in ("Home", "ArrowRight", "End"):
            page.keyboard.press(key)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
    assert failures == []
    page.close()


@pytest.mark.slow
def test_the_start_page_has_the_ways_for_who_has_little_time(tmp_path):
    start = nbformat.read(COURSE / "00-start-here.ipynb", as_version=4)
    others = [page_of_markdown(name, f"# {name}", f"notebooks/{name}.ipynb") for name in ("03-high-watermark",)]
    write_site(tmp_path / "site", [page_of("00-start-here", start), *others], ["A", "B"])
    index = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    ways = index.partition("How much time have you?")[2].partition("</ul>")[0]
    assert "Two hours" in ways and 'href="03-high-watermark.html"' in ways and ".ipynb" not in ways
