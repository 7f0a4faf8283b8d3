"""The live lessons: run whole in a browser whose kernel is the site's own, with no other host, outputs as stored."""

import functools
import http.server
import inspect
import json
import threading
import time

import pytest

from minikafka.lab.course.places import COURSE
from minikafka.lab.course.work_file import NAME, take
from minikafka.lab.course.working_copy import lay_out
from minikafka.lab.lesson_folders import REBUILD, lesson_folders
from minikafka.lab.rebuild.harnesses import ENGINE
from minikafka.lab.site.live_parts import PYODIDE, PartsError
from minikafka.lab.site.live_site import NOTEBOOKS, WHOLE, address_of, is_live, live_site, why_not_live
from minikafka.lessons.high_watermark import rungs, solutions
from tests.lab.rebuild import stubs
from tests.notebooks import checks_in_a_browser
from tests.notebooks.checks_in_a_browser import wrongly_judged
from tests.notebooks.outputs import code_cells, shown
from tests.parts import PARTS
from tests.slow.browser.conftest import chromium_path

pytestmark = [pytest.mark.browser, pytest.mark.slow]
MOST_BYTES = 25e6
"""What a page may load before its first cell, from a server that does not compress."""
DRAWN = 2
"""How many lessons run whole in a browser where not all do, as in CI."""
OF_JUPYTERLITE = {
    "aria-allowed-attr", "aria-input-field-name", "aria-required-children", "link-name", "scrollable-region-focusable", "skip-link",
    "tabindex",
}  # fmt: skip
"""The rules of axe that JupyterLite's own interface breaks; docs/commands.md says where."""


def pytest_generate_tests(metafunc):
    if "lesson" in metafunc.fixturenames:
        wanted, part = map(metafunc.config.getoption, ("--live-lessons", "--part"))
        metafunc.parametrize("lesson", drawn(part) if wanted == "all" else chosen(wanted))


def drawn(part):
    """The lessons that a run of this part runs: as many runs as there are parts run each of them."""
    if part == "all":
        return list(WHOLE)
    return [WHOLE[(DRAWN * int(part) + number) % len(WHOLE)] for number in range(DRAWN)]


def chosen(words):
    """The lessons with `words` in their names. Raises UsageError where one of them does not run in a browser."""
    named = [folder.name for folder in lesson_folders() if words in folder.name]
    refused = [f"{name}: {why_not_live(name)}" for name in named if not is_live(name)]
    if refused or not named:
        raise pytest.UsageError("; ".join(refused) or f"no lesson's name contains {words!r}")
    return named


def test_each_part_draws_some_lessons_and_all_parts_draw_every_one():
    of_parts = [drawn(str(part)) for part in range(PARTS)]
    assert {len(set(lessons)) for lessons in of_parts} == {DRAWN}
    assert {lesson for lessons in of_parts for lesson in lessons} == set(WHOLE)


@pytest.mark.parametrize(
    ("words", "told"), [("14", "14-wire: .* sockets"), ("13", "13a-.*Spark.*13b-"), ("15", "'15'")]
)
def test_a_lesson_that_is_not_live_is_refused(words, told):
    with pytest.raises(pytest.UsageError, match=told):
        chosen(words)
    assert chosen("03") == ["03-high-watermark"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def do_GET(self):
        self.server.paths.append(self.path.rpartition("/")[2])
        super().do_GET()

    def send_header(self, name, value):
        if name == "Content-Length" and self.command == "GET":
            self.server.asked.append(int(value))
        super().send_header(name, value)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A plain server of files that has the site; `paths` notes what it was asked for, `asked` the bytes that it gave."""
    top = tmp_path_factory.mktemp("site")
    try:
        (top / "live").symlink_to(live_site())
    except PartsError as failure:
        pytest.fail(str(failure))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=top))
    server.asked, server.paths = [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture
def asked(server):
    server.asked.clear()
    return server.asked


@pytest.fixture
def address(server):
    return f"http://127.0.0.1:{server.server_address[1]}"


def test_a_lesson_runs_whole_in_the_browser_and_shows_what_is_stored(chromium, address, lesson):
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    blocked = []

    def only_the_site(route):
        if route.request.url.startswith((f"{address}/", "data:", "blob:")):
            route.continue_()
        else:
            blocked.append(route.request.url)
            route.abort()

    context.route("**/*", only_the_site)
    page = context.new_page()
    failed = []
    page.on("console", lambda told: failed.append(told.text) if "Failed to render" in told.text else None)
    begin = time.monotonic()
    page.goto(f"{address}/{address_of(f'{NOTEBOOKS}/{lesson}.ipynb')}", timeout=90_000)
    page.wait_for_function(READY, timeout=120_000)
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(ASKED, timeout=120_000)
    first_s = time.monotonic() - begin
    page.wait_for_function(DONE, timeout=240_000)
    print(f"{lesson}: {first_s:.1f} s to the first prediction, {time.monotonic() - begin:.1f} s")
    outputs = page.evaluate(OUTPUTS)
    for (source, stored), found in zip(code_cells(COURSE / f"{lesson}.ipynb"), outputs, strict=True):
        if source.endswith("my_progress()"):  # the live lessons are a working copy, the course is none
            assert "Download all that you did" in str(shown(found)), source
        else:
            assert shown(found) == stored, source
    asking, told = page.evaluate(LINES_BESIDE)
    assert told == asking
    assert blocked == [] and failed == []
    context.close()


def test_what_is_right_passes_there_and_what_is_wrong_does_not(chromium, address, lesson):
    page = chromium.new_context(viewport={"width": 1280, "height": 1000}).new_page()
    open_notebook(page, f"{address}/{address_of(f'{NOTEBOOKS}/{lesson}{REBUILD}.ipynb')}")
    program = inspect.getsource(stubs) + inspect.getsource(checks_in_a_browser).replace(OWN, "")
    program += f"import json\nprint(json.dumps(judged({lesson!r})))\n"
    begin = time.monotonic()
    outputs = page.evaluate(RUN, ["import", program])
    (said,) = [text for kind, text in shown(outputs) if kind == "stdout"]
    tasks = json.loads(said)
    print(f"{lesson}: {len(tasks)} tasks in {time.monotonic() - begin:.1f} s")
    assert tasks and wrongly_judged(tasks) == []
    page.context.close()


OWN = "from tests.lab.rebuild.stubs import stub_of"
"""What a browser does not have: its text comes before."""


@pytest.mark.in_parts(4)
def test_a_page_loads_little_before_its_first_prediction(chromium, address, asked):
    """Of the lessons with large notebooks; where requests are watched, as above, a browser's cache does not work."""
    page = chromium.new_context(viewport={"width": 1280, "height": 1000}).new_page()
    open_notebook(page, f"{address}/{address_of(f'{NOTEBOOKS}/12b-leader-epochs.ipynb')}")
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(ASKED, timeout=120_000)
    print(f"{sum(asked) / 1e6:.1f} MB")
    assert sum(asked) <= MOST_BYTES
    page.context.close()


@pytest.mark.in_parts(4)
def test_the_plain_wasm_comes_after_the_first_prediction_and_only_once(chromium, address, server, tmp_path):
    """From then on it is taken from the browser's cache on the disk, which can keep its machine code."""
    context = chromium.browser_type.launch_persistent_context(
        tmp_path, executable_path=chromium_path(), args=["--no-sandbox"], viewport={"width": 1280, "height": 1000}
    )
    server.paths.clear()
    page = context.new_page()
    open_notebook(page, f"{address}/{address_of(f'{NOTEBOOKS}/03-high-watermark.ipynb')}")
    page.wait_for_timeout(15_000)
    assert wasm_of(server) == ["pyodide.asm.wasm.packed"], "nothing more before the first cell"
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(ASKED, timeout=120_000)
    assert wasm_of(server) == ["pyodide.asm.wasm.packed"]
    end = time.monotonic() + 60
    while len(wasm_of(server)) == 1 and time.monotonic() < end:
        page.wait_for_timeout(200)
    assert wasm_of(server)[1:] == [f"pyodide.asm.wasm?{PYODIDE}"]
    page.wait_for_timeout(2000)
    page.close()
    server.paths.clear()
    first_prediction(context, address)
    assert wasm_of(server) == []
    context.close()


def first_prediction(context, address):
    page = context.new_page()
    open_notebook(page, f"{address}/{address_of(f'{NOTEBOOKS}/03-high-watermark.ipynb')}")
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(ASKED, timeout=120_000)
    return page


def wasm_of(server):
    return [path for path in server.paths if ".wasm" in path]


@pytest.mark.in_parts(4)
def test_the_logo_leads_to_the_files_and_they_to_their_editors(chromium, address):
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    open_notebook(page, f"{address}/{address_of(f'{NOTEBOOKS}/03-high-watermark.ipynb')}")
    with context.expect_page() as opened:
        page.locator("#jp-NotebookLogo").click()
    tree = opened.value
    tree.get_by_text(NOTEBOOKS, exact=True).dblclick(timeout=60_000)
    with context.expect_page() as opened:
        tree.get_by_text("my_log.py").dblclick(timeout=60_000)
    opened.value.get_by_text("written from nothing").first.wait_for(timeout=60_000)
    for app in ("lab", "consoles", "."):
        assert page.request.get(f"{address}/live/{app}/index.html").ok, app
    context.close()


def test_a_lesson_that_is_only_read_shows_what_is_stored_and_says_why_a_cell_fails(chromium, address):
    page = chromium.new_context(viewport={"width": 1280, "height": 1000}).new_page()
    open_notebook(page, f"{address}/{address_of(f'{NOTEBOOKS}/14-wire.ipynb')}")
    stored = [told for _, told in code_cells(COURSE / "14-wire.ipynb")]
    assert list(map(shown, page.evaluate(OUTPUTS))) == stored
    kinds = dict(shown(page.evaluate(RUN, ["HandRunBroker(", ""])))
    assert kinds["stdout"] == f"{why_not_live('14-wire')}\n" and "error" in kinds
    page.context.close()


def test_a_page_without_https_says_that_its_cells_cannot_run(chromium, server):
    rules = "--host-resolver-rules=MAP course.test 127.0.0.1"
    browser = chromium.browser_type.launch(executable_path=chromium_path(), args=["--no-sandbox", rules])
    page, told = browser.new_page(), []
    page.on("dialog", lambda dialog: (told.append(dialog.message), dialog.accept()))
    place = f"http://course.test:{server.server_address[1]}"
    open_notebook(page, f"{place}/{address_of(f'{NOTEBOOKS}/03-high-watermark.ipynb')}")
    assert len(told) == 1 and "begins with https" in told[0]
    browser.close()


@pytest.mark.in_parts(4)
@pytest.mark.parametrize(("theme", "width"), [("Light", 1280), ("Light", 390), ("Dark", 390)])
def test_axe_finds_nothing_in_what_is_ours(chromium, address, theme, width):
    from axe_playwright_python.sync_playwright import Axe

    page = chromium.new_context(viewport={"width": width, "height": 1000}).new_page()
    open_notebook(page, f"{address}/{address_of(f'{NOTEBOOKS}/03-high-watermark.ipynb')}")
    page.evaluate(f"() => window.jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {theme}'}})")
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(DONE, timeout=240_000)
    page.locator(".noUi-handle[aria-label]").first.wait_for(state="attached")
    page.wait_for_timeout(1000)  # until what scrolls can be reached by the keyboard
    found = Axe().run(page)
    ours = [
        (violation["id"], node["html"])
        for violation in found.response["violations"]
        for node in violation["nodes"]
        if page.evaluate(IS_OURS, node["target"][0])
    ]
    assert ours == []
    others = {violation["id"]: violation["nodes"][0]["html"] for violation in found.response["violations"]}
    assert others.keys() <= OF_JUPYTERLITE, others
    page.context.close()


@pytest.mark.in_parts(4)
def test_a_prediction_is_made_and_a_player_moved_by_keyboard_alone(chromium, address):
    page = chromium.new_context(viewport={"width": 1280, "height": 1000}).new_page()
    open_notebook(page, f"{address}/{address_of(f'{NOTEBOOKS}/03-high-watermark.ipynb')}")
    asking = page.evaluate(FIRST_PREDICTION)
    page.wait_for_function("() => document.activeElement.closest('.jp-Cell')")
    for cell in range(asking):
        page.keyboard.press("Shift+Enter")
        page.wait_for_function(f"() => window.jupyterapp.shell.currentWidget.content.activeCellIndex > {cell}")
    for key in ("Enter", "Control+Home", "ArrowDown", "ArrowDown", "ArrowDown", "Shift+End"):
        page.keyboard.press(key)
    page.keyboard.type("2,")
    page.keyboard.press("Shift+Enter")
    page.get_by_text("You said 2").first.wait_for(timeout=60_000)
    for _ in range(asking):
        page.keyboard.press("ArrowUp")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.matches('.noUi-handle')"):
            break
    assert page.evaluate("() => document.activeElement.ariaLabel") == "Leader and followers"
    page.keyboard.press("ArrowLeft")
    page.get_by_text("frame 1 of 2").first.wait_for()
    page.context.close()


@pytest.mark.in_parts(4)
def test_what_is_written_in_the_browser_is_judged_there_kept_there_and_taken_into_a_working_copy(
    chromium, address, tmp_path
):
    page = chromium.new_context(viewport={"width": 1280, "height": 1000}).new_page()

    def shown_by(words, *functions):
        """What the first cell with `words` shows when it is run; before the line of the words stand the functions."""
        source = "\n\n".join(map(inspect.getsource, functions))
        outputs = page.evaluate(RUN, [words, source])
        return "\n".join(text for kind, text in shown(outputs) if kind != "text/html")

    open_notebook(page, f"{address}/{address_of(f'{NOTEBOOKS}/03-high-watermark-rebuild.ipynb')}")
    for words in ("import ___", ".exercises import", ".rungs import"):
        assert "error" not in [kind for kind, _ in shown(page.evaluate(RUN, [words, ""]))], words
    assert "not judged here" in shown_by("least_end.check", solutions.high_watermarks)
    assert "correct" in shown_by("clamp.check", solutions.updated)
    begin = time.monotonic()
    assert f"as {ENGINE} has them" in shown_by("clamps.check", rungs.update_high_watermark)
    print(f"a rung's check: {time.monotonic() - begin:.1f} s")
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")

    open_notebook(page, page.url)
    outputs = page.evaluate(RUN, ["wake_witnesses()", "from minikafka.lab import my_progress as wake_witnesses"])
    assert "1 of " in outputs[-1]["data"]["text/plain"]
    with page.expect_download() as download:
        page.click("a[download]")
    download.value.save_as(tmp_path / NAME)
    desk = tmp_path / "desk"
    lay_out(desk=desk)
    told = take(tmp_path / NAME, desk)
    assert told[0] == "03-high-watermark-rebuild.ipynb: taken" and "2 of 2 tasks" in told[-1]
    assert "def updated(old, suggested" in (desk / "03-high-watermark-rebuild.ipynb").read_text(encoding="utf-8")
    page.context.close()


def open_notebook(page, at):
    page.goto(at, timeout=90_000)
    page.wait_for_function(READY, timeout=120_000)


_CELLS = (
    "const cells = window.jupyterapp.shell.currentWidget.content.model.cells; const all ="
    " [...Array(cells.length).keys()].map(i => cells.get(i)).filter(c => c.type === 'code');"
)
READY = (
    "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.isReady &&"
    " window.jupyterapp.shell.currentWidget.content.model.cells.length > 1"
)
ASKED = (
    f"() => {{ {_CELLS} return all.some(c => c.sharedModel.getSource().startsWith('predict(') && c.outputs.length); }}"
)
DONE = f"() => {{ {_CELLS} return all.every(c => c.executionCount !== null && c.executionState !== 'running'); }}"
RUN = """async ([words, before]) => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    const place = notebook.widgets.findIndex(w => w.model.type === 'code' && w.model.sharedModel.getSource().includes(words));
    const cell = notebook.widgets[place].model;
    if (before) {
        const last = cell.sharedModel.getSource().split('\\n').filter(line => line.includes(words)).pop();
        cell.sharedModel.setSource(before + '\\n' + last);
    }
    notebook.activeCellIndex = place;
    await window.jupyterapp.commands.execute('notebook:run-cell');
    return cell.outputs.toJSON();
}"""
FIRST_PREDICTION = (
    "() => { const cells = window.jupyterapp.shell.currentWidget.content.model.cells; return"
    " [...Array(cells.length).keys()].find(i => cells.get(i).sharedModel.getSource().startsWith('predict(')); }"
)
IS_OURS = "target => !!document.querySelector(target).closest('.jp-OutputArea-output, .jp-RenderedHTMLCommon')"
OUTPUTS = f"() => {{ {_CELLS} return all.map(c => c.outputs.toJSON()); }}"
LINES_BESIDE = (  # how many cells ask Kafka, and how many of these have an output that is a widget alone
    f"() => {{ {_CELLS} const asking = all.filter(c => /= three_witnesses[(]|_by_both[(]/.test(c.sharedModel.getSource()));"
    " return [asking.length, asking.filter(c => c.outputs.toJSON().some("
    " o => o.data && Object.keys(o.data).every(kind => kind.includes('widget-view')))).length]; }"
)
