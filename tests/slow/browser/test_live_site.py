"""The live lessons: run whole in a browser whose kernel is the site's own, with no other host, outputs as stored."""

import functools
import http.server
import threading
import time

import pytest

from minikafka.lab.course.places import COURSE
from minikafka.lab.lesson_folders import lesson_folders
from minikafka.lab.site.live_parts import PartsError
from minikafka.lab.site.live_site import NOTEBOOKS, WHOLE, address_of, live_site
from tests.notebooks.outputs import code_cells, shown

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def pytest_generate_tests(metafunc):
    if "lesson" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--live-lessons")
        every = WHOLE if wanted == "all" else [folder.name for folder in lesson_folders()]
        metafunc.parametrize("lesson", [name for name in every if wanted == "all" or wanted in name])


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def do_GET(self):
        self.server.asked.append(self.path)
        super().do_GET()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where a plain server of files has the site."""
    top = tmp_path_factory.mktemp("site")
    try:
        (top / "live").symlink_to(live_site())
    except PartsError as failure:
        pytest.fail(str(failure))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=top))
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_a_lesson_runs_whole_in_the_browser_and_shows_what_is_stored(chromium, address, lesson, record_property):
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
    begin = time.monotonic()
    page.goto(f"{address}/{address_of(f'{NOTEBOOKS}/{lesson}.ipynb')}", timeout=90_000)
    page.wait_for_function(READY, timeout=120_000)
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(ASKED, timeout=120_000)
    record_property("seconds to the first prediction", round(time.monotonic() - begin, 1))
    page.wait_for_function(DONE, timeout=240_000)
    record_property("seconds to the end", round(time.monotonic() - begin, 1))
    outputs = page.evaluate(OUTPUTS)
    for (source, stored), found in zip(code_cells(COURSE / f"{lesson}.ipynb"), outputs, strict=True):
        assert shown(found) == stored, source
    said = page.evaluate("() => document.body.innerText")
    assert "Apache Kafka 4.3.0 are not at hand here" in said or page.evaluate(WITNESSED)
    assert blocked == []
    context.close()


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
OUTPUTS = f"() => {{ {_CELLS} return all.map(c => c.outputs.toJSON()); }}"
WITNESSED = f"() => {{ {_CELLS} return all.some(c => c.sharedModel.getSource().includes('three_witnesses(')); }}"
