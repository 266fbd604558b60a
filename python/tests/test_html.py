"""The HTML report: what it says, and how Chromium shows it."""

import json
import re

import browser
import pytest
import report_example

import penstock as ps
from penstock import _html, _html_graph

needs_chromium = pytest.mark.skipif(
    browser.find() is None,
    reason="Chromium is not installed (tools/setup.sh browser)",
)


def embedded(page):
    found = re.search(r'id="samples">(.*?)</script>', page, re.S)
    return json.loads(found.group(1))


# --- the page as text --------------------------------------------------------


def test_the_verdict_findings_and_fixes_are_in_the_page(tmp_path):
    report = report_example.small()
    report.to_html(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert report.verdict in page
    assert "python-gil" in page and "1.93x predicted, 1.88x measured" in page
    assert "ds.map(augment, executor=&quot;process&quot;)" in page
    assert "for y in range(h)" in page
    assert page.count('class="limiting"') == 2  # in the graph and in the table
    assert "all 4 calls blocked" in page


def test_the_page_needs_nothing_else():
    page = _html.render(report_example.small())
    assert not re.search(r"(src|href)\s*=|url\(|@import|https?:", page)
    assert "default-src 'none'" in page


def test_what_users_wrote_cannot_become_markup():
    report = report_example.small()
    evil = "</script><img src=x onerror=alert(1)>"
    report.verdict = evil
    for stage in report.stages:
        stage.label = evil
    report.decisions[0]["what"] = evil
    for sample in report.samples:
        sample["busy"] = {evil: 1.0}
    page = _html.render(report)
    assert "<img" not in page
    assert page.count("</script>") == 2  # the data's and the program's own
    assert embedded(page)["stages"][0]["label"] == evil


def test_a_bare_report_is_a_page_too():
    page = _html.render(ps.Report("the consumer is the limit", "consumer", True, 10.0))
    assert "the consumer is the limit" in page and "None." in page
    assert 'id="timeline"' not in page


def test_an_unsure_report_says_so():
    report = report_example.small()
    report.unsure, report.unsure_why = True, "only 3 elements were seen"
    assert "only 3 elements were seen" in _html.render(report)


def test_hot_lines_are_shown_once():
    report = report_example.small()
    line = ps.Evidence("hot line train.py:41 `blend`", 81, "%")
    report.findings[0].evidence.append(line)
    assert "hot line" not in _html.render(report)
    report.hot_lines = {}
    assert "hot line train.py:41" in _html.render(report)


def test_a_stage_that_made_nothing_has_no_rate():
    report = report_example.small()
    explained = "A stage without a rate"
    assert explained not in _html.render(report)
    batch = report.stages[-1]
    batch.elements, batch.rate, batch.service_us = 0, 0.0, 0.0
    page = _html.render(report)
    assert explained in page
    assert '<span class="rate"></span>' in page and ">0/s" not in page
    assert re.search(r"batch#4 +- +- ", str(report))


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        report_example.small().to_html(tmp_path / "absent" / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_an_hour_is_put_into_a_thousand_spans_without_losing_its_dip():
    report = report_example.large()
    page = _html.render(report)
    assert len(page) < 2_000_000
    data = embedded(page)
    assert len(data["t"]) <= _html.MAX_SAMPLES
    assert data["t"] == sorted(data["t"]) and data["end"] == 3600.0
    assert len(data["stages"]) == 60
    # Half a minute at a tenth of the rate is still seen.
    assert min(data["rate"]["min"]) < 320
    assert max(data["wait"]["max"]) == 0.9
    mean = sum(data["rate"]["mean"]) / len(data["rate"]["mean"])
    measured = sum(s["rate"] for s in report.samples) / len(report.samples)
    assert mean == pytest.approx(measured, rel=0.01)


@pytest.mark.parametrize("first, start", [(0.13, 0.0), (0.1, 0.0), (7.0, 6.9)])
def test_the_first_sample_speaks_of_the_time_before_it(first, start):
    report = report_example.small()
    for i, sample in enumerate(report.samples):
        sample["t"] = first + 0.1 * i
    assert _html.timeline_data(report)["t"][0] == pytest.approx(start)


def test_branches_run_on_rails_of_their_own_and_join():
    nodes = [
        {"label": "a", "inputs": []},
        {"label": "b", "inputs": ["a"]},
        {"label": "c", "inputs": []},
        {"label": "d", "inputs": ["c"]},
        {"label": "zip", "inputs": ["b", "d"]},
        {"label": "e", "inputs": ["zip"]},
    ]
    rows = _html_graph.lay_out(nodes)
    assert [r["rail"] for r in rows] == [0, 0, 1, 1, 0, 0]
    assert rows[4]["joined"] == [0, 1]
    assert rows[4]["after"] == ["zip"]
    assert rows[5]["after"] == [None]


# --- the page in a browser ---------------------------------------------------


@pytest.fixture(scope="module")
def page():
    if browser.find() is None:
        pytest.skip("Chromium is not installed (tools/setup.sh browser)")
    with browser.Browser() as b:
        yield b


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    report_example.small().to_html(folder / "small.html")
    report_example.large().to_html(folder / "large.html")
    return folder


@needs_chromium
@pytest.mark.parametrize("name", ["small", "large"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_it_opens_without_errors_requests_or_sideways_scrolling(
    page, files, name, width, dark
):
    page.problems.clear()
    page.open(files / f"{name}.html", width=width, dark=dark)
    assert page.js("document.documentElement.scrollWidth <= innerWidth")
    # Nothing sticks out of the page, even where it would be cut off.
    outside = """[...document.querySelectorAll("main *")].filter(
        (e) => e.getBoundingClientRect().right > innerWidth + 1).length"""
    assert page.js(outside) == 0
    assert int(page.js("document.getElementById('timeline').dataset.drawn")) > 0
    # A long list of decisions scrolls by itself.
    assert page.js("document.getElementById('decisions').parentElement.clientHeight"
                   ) <= 480  # fmt: skip
    shown = page.js("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", shown)[:3])) < 150 or not dark
    assert page.problems == []


@needs_chromium
def test_the_timeline_zooms_and_comes_back(page, files):
    page.open(files / "large.html", fragment="#t=1700-1900")
    box = "document.getElementById('timeline').dataset"
    assert page.js(f"[+{box}.from, +{box}.to]") == [1700, 1900]
    page.js("document.querySelector('button[data-do=in]').click()")
    assert page.js(f"+{box}.to - +{box}.from") == pytest.approx(100)
    page.js("document.querySelector('button[data-do=left]').click()")
    assert page.js(f"+{box}.from") == pytest.approx(1720)
    page.js("document.querySelector('button[data-do=all]').click()")
    assert page.js(f"[+{box}.from, +{box}.to]") == [0, 3600]


@needs_chromium
def test_dragging_over_the_timeline_zooms_in(page, files):
    page.open(files / "small.html")
    page.js("document.querySelector('canvas').scrollIntoView()")
    x, y, width = page.js(
        "(({x, y, width}) => [x, y, width])"
        "(document.querySelector('canvas').getBoundingClientRect())"
    )
    left = x + 150
    for kind, at in (
        ("mousePressed", 0.2),
        ("mouseMoved", 0.4),
        ("mouseReleased", 0.4),
    ):
        page.call(
            "Input.dispatchMouseEvent", type=kind, x=left + at * (width - 150),
            y=y + 20, button="left", clickCount=1,
        )  # fmt: skip
    box = "document.getElementById('timeline').dataset"
    begin, end = page.js(f"[+{box}.from, +{box}.to]")
    assert begin == pytest.approx(1.0, abs=0.05) and end == pytest.approx(2.0, abs=0.05)
    assert "elements/s" in page.js("document.getElementById('readout').textContent")


@needs_chromium
def test_a_fix_is_copied(page, files):
    page.open(files / "small.html")
    page.js(
        "document.addEventListener('copy', () => {"
        "  window.copied = document.activeElement.value; });"
        "navigator.clipboard.writeText = () => Promise.reject(new Error('no'));"
        "document.querySelector('button.copy').click()"
    )
    page.js("new Promise((done) => setTimeout(done, 50))")
    assert page.js("window.copied") == 'ds.map(augment, executor="process")'
    assert page.js("document.querySelector('button.copy').textContent") == "copied"


@needs_chromium
def test_the_theme_can_be_switched(page, files):
    page.open(files / "small.html", dark=False)
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.js(colour)
    page.js("document.getElementById('theme').click()")
    assert page.js(colour) != light
    page.js("document.getElementById('theme').click()")
    assert page.js(colour) == light
