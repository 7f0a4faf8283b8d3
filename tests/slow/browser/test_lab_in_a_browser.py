"""Each lesson in JupyterLab, in a real browser: run to its end with the outputs that its notebook holds, sliders moved,
a screenshot of each widget kept (but in CI).
"""

import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest

from minikafka.lab.course.lesson_notebooks import notebooks
from minikafka.lab.course.places import COURSE
from minikafka.lab.course.working_copy import FIRST_LESSON, lab_command, lab_environment, lay_out
from minikafka.lab.lesson_folders import REBUILD
from tests.absent import in_ci
from tests.notebooks.outputs import LIVE_WIDGET, code_cells, shown

LESSONS = [path.name for path in notebooks()]
_BUTTONS_OF_EACH = 4
"""Sliders with `back` and `next` are all alike: the buttons of each fourth are pressed, and all sliders moved."""
SCREENSHOTS = Path(__file__).parents[3] / "test-results" / "screenshots"
pytestmark = [pytest.mark.browser, pytest.mark.spark]


SIZES_OF_LETTERS = """() => [...document.querySelectorAll(".mk svg")].flatMap(svg => {
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return [...svg.querySelectorAll("text")].map(text => parseFloat(getComputedStyle(text).fontSize) * scale);
})"""
"""In pixels, as they are on the screen."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A working copy of the course."""
    desk = tmp_path_factory.mktemp("desk")
    lay_out(COURSE, desk)
    return desk


@pytest.fixture(scope="module")
def lab(desk):
    """A JupyterLab on the working copy; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = [
        "--no-browser", f"--ServerApp.port={port}", "--IdentityProvider.token=", "--ServerApp.password=",
        "--LabApp.expose_app_in_browser=True", "--ServerApp.disable_check_xsrf=True",
    ]  # fmt: skip
    environment = {
        **lab_environment(),
        "JUPYTER_CONFIG_DIR": str(desk / ".jupyter"),
        "JUPYTERLAB_SETTINGS_DIR": str(desk / ".lab"),
    }
    with (desk / "lab.out").open("w") as out:
        server = subprocess.Popen([*lab_command(desk), *settings], stdout=out, stderr=out, env=environment)
    try:
        _wait_for(f"http://127.0.0.1:{port}/api", server, desk / "lab.out")
        yield f"http://127.0.0.1:{port}/lab"
    finally:
        server.terminate()
        server.wait(20)


def test_the_first_lesson_is_opened_and_nothing_else_is_asked(lab, chromium):
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    page.goto(lab.removesuffix("/lab"), timeout=90_000)
    _until(page, "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.isReady", 90)
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path") == FIRST_LESSON
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.node.clientWidth") > 300, "the lesson can be read"
    assert page.evaluate("() => [...window.jupyterapp.shell.widgets('main')].length") == 1, "no launcher beside it"
    for _ in range(8):  # up to the first picture
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')")
    page.locator(".mk svg text").first.wait_for(state="attached", timeout=60_000)
    assert min(page.evaluate(SIZES_OF_LETTERS)) >= 11, "pictures are as large as elsewhere, and one scrolls"
    page.wait_for_timeout(3000)  # the box would come a moment later
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "first-sight.png")
    assert page.locator(".jp-toast, .Toastify__toast, .jp-Dialog").count() == 0
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.locator(".jp-SideBar [data-id=filebrowser]").click()
    page.locator(".jp-DirListing-itemName", has_text="solutions").wait_for(state="visible")
    listed = page.locator(".jp-DirListing-itemName").all_inner_texts()
    assert {FIRST_LESSON, "data", "solutions", "zh"} <= {*listed} and "diagrams" not in listed
    assert not page.locator(".jp-DirListing-itemModified:visible").count()
    page.close()


@pytest.mark.in_parts(4)
def test_a_lesson_that_is_opened_and_saved_still_follows_the_course(lab, desk, chromium, tmp_path):
    page = chromium.new_page()
    page.goto(f"{lab}/tree/{FIRST_LESSON}?reset", timeout=90_000)
    # JupyterLab notes the kernel's version in the notebook, which it then takes for changed and saves by itself.
    _until(page, "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.isReady", 90)
    _until(page, "() => window.jupyterapp.shell.currentWidget.context.model.dirty", 20)
    page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.context.save(); }")
    _until(page, "() => !window.jupyterapp.shell.currentWidget.context.model.dirty", 20)
    page.close()
    assert (desk / FIRST_LESSON).read_bytes() != (COURSE / FIRST_LESSON).read_bytes()
    next_edition = tmp_path / FIRST_LESSON
    next_edition.write_text((COURSE / FIRST_LESSON).read_text().replace("Start here", "Begin here"))
    assert lay_out(tmp_path, desk) == [desk / FIRST_LESSON]
    next_edition.write_bytes((COURSE / FIRST_LESSON).read_bytes())
    assert lay_out(tmp_path, desk) == [desk / FIRST_LESSON], "for the tests that follow"


PICTURE = """
import ipywidgets
ipywidgets.HTML("<b>a picture</b>")
"""
WAITS = """
import time
from minikafka.lab.stage import background
background.while_the_reader_reads(lambda: time.sleep(5))
with background.told_while_starting():
    time.sleep(5)
print("ready")
"""


@pytest.mark.in_parts(4)
def test_a_cell_says_what_it_waits_for_until_it_is_ready(lab, desk, chromium):
    notebook = nbformat.read(desk / FIRST_LESSON, as_version=4)
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in (PICTURE, WAITS)]
    nbformat.write(notebook, desk / "waits.ipynb")
    page = chromium.new_page()
    page.goto(f"{lab}/tree/waits.ipynb?reset", timeout=90_000)
    _until(page, "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.isReady", 90)
    run = "name => void window.jupyterapp.commands.execute(name)"
    page.evaluate(run, "notebook:run-cell-and-select-next")
    page.locator(".jp-OutputArea", has_text="a picture").first.wait_for(state="visible")
    page.evaluate(run, "notebook:run-cell")
    said = page.locator(".jp-OutputArea", has_text="waits for Spark and Apache Kafka").first
    said.wait_for(state="visible", timeout=20_000)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "waits.png")
    _until(page, _DONE, 60)
    page.locator(".jp-OutputArea", has_text="ready").first.wait_for(state="visible")
    assert page.locator(".jp-OutputArea").last.inner_text().strip() == "ready"
    outputs = page.evaluate(_OUTPUTS)[1]
    assert shown(outputs) == [("stdout", "ready\n")] and LIVE_WIDGET not in str(outputs)
    page.evaluate("() => window.jupyterapp.commands.execute('kernelmenu:shutdown')")
    page.close()


@pytest.mark.in_parts(20)
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_runs_to_its_end_and_its_widgets_answer(lab, chromium, name):
    page = chromium.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(f"{lab}/tree/{name}?reset", timeout=90_000)
    _until(page, "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.isReady", 90)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    _until(page, _DONE, 240)
    failures = page.evaluate(_ERRORS)
    assert failures == [], failures
    for (source, stored), outputs in zip(code_cells(COURSE / name), page.evaluate(_OUTPUTS), strict=True):
        if source == "my_progress()":  # the course has no progress, this working copy has
            assert "rungs" in dict(shown(outputs))["text/html"]
        else:
            assert shown(outputs) == stored, source

    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    stem = name.removesuffix(".ipynb")
    cells = page.evaluate(_WIDGET_CELLS)
    assert cells or stem.endswith(REBUILD), "no widget was found"
    reactions = []
    for number, cell in enumerate(cells):
        page.evaluate("i => window.jupyterapp.shell.currentWidget.content.scrollToItem(i, 'start')", cell)
        output = page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{cell}'] .jp-OutputArea")
        output.locator(".jp-OutputArea-output").last.wait_for(state="visible")
        page.wait_for_timeout(150)  # until the page has come to rest
        handles = output.locator(".noUi-handle")
        seconds = [_move(page, output, handles.nth(i)) for i in range(handles.count())]
        if output.locator("button.jupyter-button").count():
            if not handles.count():
                seconds += _press_each(page, output)
            elif number % _BUTTONS_OF_EACH == 0:
                seconds += _press_buttons(page, output)
        for _ in range(3):  # other tests make the machine busy
            if min(seconds, default=0) >= 0.2:
                seconds += [_move(page, output, handles.nth(i)) for i in range(handles.count())]
        assert min(seconds, default=0) < 0.2, f"cell {cell} is slow"
        reactions.append(f"{stem} widget {number}: {' '.join(f'{s:.3f}' for s in seconds)}")
        if not in_ci():  # where nobody looks
            output.locator(".jp-OutputArea-output").last.screenshot(path=SCREENSHOTS / f"{stem}-{number}.png")
        assert page.evaluate(_TOO_WIDE, cell) == [], f"cell {cell} is wider than its place"
    (SCREENSHOTS / f"{stem}-seconds.txt").write_text("\n".join(reactions) + "\n")
    page.evaluate("() => window.jupyterapp.commands.execute('kernelmenu:shutdown')")
    page.close()


def _move(page, output, handle):
    """An arrow key on a slider's handle; returns the seconds until the picture has changed."""
    handle.focus()
    key = "ArrowLeft" if _place(handle) == _place(handle, "valuemax") else "ArrowRight"
    return _reaction(page, output, lambda: page.keyboard.press(key))


def _press_buttons(page, output):
    """`back` and `next` once each, beginning with the one that can move; returns the seconds of both."""
    handle = output.locator(".noUi-handle").first
    buttons = [output.locator("button.jupyter-button", has_text=words) for words in ("back", "next")]
    if _place(handle) == _place(handle, "valuemin"):
        buttons.reverse()
    begin = _place(handle)
    seconds = [_reaction(page, output, button.click) for button in buttons]
    assert _place(handle) == begin, "one button undoes the other"
    return seconds


def _press_each(page, output):
    """Every button that can do something when its turn comes, once each; returns the seconds."""
    buttons = output.locator("button.jupyter-button")
    every = (buttons.nth(i) for i in range(buttons.count()))
    return [_reaction(page, output, button.click) for button in every if button.is_enabled()]


def _reaction(page, output, action):
    """The seconds from the key or the press until the browser has painted another picture, by its own clock."""
    output.evaluate(_WATCH)
    action()
    _until(page, "() => window.minikafkaReaction !== null", 5, polling=20)
    return page.evaluate("() => window.minikafkaReaction") / 1000


def _place(handle, which="valuenow"):
    return float(handle.get_attribute(f"aria-{which}"))


def _until(page, condition, seconds, polling=300):
    page.wait_for_function(condition, timeout=seconds * 1000, polling=polling)


def _wait_for(address, server, out):
    for _ in range(300):
        try:
            urllib.request.urlopen(address, timeout=2)
            return
        except OSError:
            assert server.poll() is None, out.read_text()
            time.sleep(0.2)
    raise AssertionError("JupyterLab did not answer: " + out.read_text())


_MODEL = (
    "const cells = window.jupyterapp.shell.currentWidget.content.model.cells; const all ="
    " [...Array(cells.length).keys()].map(i => cells.get(i));"
)
_DONE = (
    f"() => {{ {_MODEL} const code = all.filter(c => c.type === 'code'); return code.length && code.every(c =>"
    " c.executionCount !== null && c.executionState !== 'running') &&"
    " window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'; }"
)
_OUTPUTS = f"() => {{ {_MODEL} return all.filter(c => c.type === 'code').map(c => c.outputs.toJSON()); }}"
_ERRORS = (
    f"() => {{ {_MODEL} return all.filter(c => c.type === 'code').flatMap(c => c.outputs.toJSON().filter(o =>"
    " o.output_type === 'error').map(o => c.sharedModel.getSource() + ' → ' + o.evalue)); }"
)
_WIDGET_CELLS = (
    f"() => {{ {_MODEL} return all.map((c, i) => c.type === 'code' && c.outputs.toJSON().some(o => o.data &&"
    f" '{LIVE_WIDGET}' in o.data) ? i : -1).filter(i => i >= 0); }}"
)
_WATCH = """element => {
    window.minikafkaReaction = null;
    const pictures = () => [...element.querySelectorAll('.mk')].filter(e => e.offsetParent).map(e => e.innerText).join();
    const before = pictures();
    let begin = null;
    const acted = () => { begin ??= performance.now(); };
    for (const kind of ['keydown', 'pointerdown']) element.addEventListener(kind, acted, {capture: true, once: true});
    const watcher = new MutationObserver(() => {
        if (begin === null || pictures() === before) return;
        watcher.disconnect();
        requestAnimationFrame(() => setTimeout(() => { window.minikafkaReaction = performance.now() - begin; }));
    });
    watcher.observe(element, {subtree: true, childList: true, attributes: true, characterData: true});
}"""
_TOO_WIDE = """i => {
    const cell = document.querySelector(`.jp-Notebook .jp-Cell[data-windowed-list-index='${i}']`);
    const end = cell.querySelector('.jp-OutputArea').getBoundingClientRect().right;
    return [...cell.querySelectorAll('.mk, .mk svg')].filter(e => e.offsetParent !== null || e.tagName === 'svg')
        .map(e => e.getBoundingClientRect().right).filter(right => right > end + 1);
}"""
