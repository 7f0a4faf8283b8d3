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
        super().do_GET()

    def send_header(self, name, value):
        if name == "Content-Length" and self.command == "GET":
            self.server.asked.append(int(value))
        super().send_header(name, value)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A plain server of files that has the site; `asked` notes the bytes of each that it gave."""
    top = tmp_path_factory.mktemp("site")
    try:
        (top / "live").symlink_to(live_site())
    except PartsError as failure:
        pytest.fail(str(failure))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=top))
    server.asked = []
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


@pytest.mark.in_parts(10)
def test_a_lesson_runs_whole_in_the_browser_and_shows_what_is_stored(chromium, address, lesson, asked):
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
    first_s, first_bytes = time.monotonic() - begin, sum(asked)
    page.wait_for_function(DONE, timeout=240_000)
    print(
        f"{lesson}: {first_s:.1f} s and {first_bytes / 1e6:.1f} MB to the first prediction, {time.monotonic() - begin:.1f} s"
    )
    outputs = page.evaluate(OUTPUTS)
    for (source, stored), found in zip(code_cells(COURSE / f"{lesson}.ipynb"), outputs, strict=True):
        assert shown(found) == stored, source
    asking, told = page.evaluate(LINES_BESIDE)
    assert told == asking
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
LINES_BESIDE = (  # how many cells ask Kafka, and how many of these have an output that is a widget alone
    f"() => {{ {_CELLS} const asking = all.filter(c => /= three_witnesses[(]|_by_both[(]/.test(c.sharedModel.getSource()));"
    " return [asking.length, asking.filter(c => c.outputs.toJSON().some("
    " o => o.data && Object.keys(o.data).every(kind => kind.includes('widget-view')))).length]; }"
)
