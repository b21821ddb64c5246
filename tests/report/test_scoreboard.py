"""The page of a comparison stands alone, holds every figure, and shows itself without errors in a browser."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tunewright.bench.contestant import Contestant
from tunewright.bench.score import ContestantScore, SpaceScore, Table
from tunewright.bench.statistics import Interval
from tunewright.bench.suite import Suite
from tunewright.report.scoreboard import scoreboard

VOID = {"meta", "link", "line", "circle", "polygon", "br"}
EVIL = "<script>alert(1)</script>.py"


def space(name: str, family: str, value: float) -> SpaceScore:
    line = np.linspace(0, 1, 10)
    return SpaceScore(
        space=name,
        family=family,
        value=value,
        interval=Interval(value - 0.1, value + 0.1),
        runs=np.array([value, value]),
        goal=0.99 if name == "b" else 0.95,
        fraction_after={10: 0.8, 20: 0.9},
        to_fraction={0.9: (12.0, 30.0, 0.9), 0.95: (40.0, 90.0, 0.6), 0.99: (np.inf, np.inf, 0.2)},
        repeats=0.25,
        failures=0.125,
        ended_early=0.0,
        failed={"timeout": 2},
        evaluations=100.0,
        cpu_ms=0.5,
        curve=(line, line, line - 0.05, line + 0.05),
    )


@pytest.fixture
def html() -> str:
    rows = []
    for number, label in enumerate(["blend", EVIL, *(f"other{k}" for k in range(9))]):
        spaces = {name: space(name, family, 0.8 - 0.05 * number) for name, family in (("a", "f"), ("b", "g"))}
        value = 0.8 - 0.05 * number
        ends = Interval(value - 0.1, value + 0.1)
        behind = (0.05 * number, Interval(0.0, 0.3)) if number else None
        families = {"f": value, "g": value}
        rows.append(
            ContestantScore(
                Contestant(label, "tunewright", label),
                value,
                ends,
                None,
                families,
                spaces,
                1.0,
                2,
                0.01 if number else None,
                behind,
            )
        )
    suite = Suite("made-up", "3", Path("x.toml"), Path(), ())
    return scoreboard(
        suite, Table(tuple(rows), {"c": "no configuration works"}), "tunewright score blend --suite x.toml"
    )


class Checker(HTMLParser):
    """Every element that opens closes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def test_the_page_is_well_formed_and_has_a_chart_for_each_space_and_one_for_all(html: str) -> None:
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    assert checker.seen.count("figure") == 3
    assert checker.seen.count("table") == 5


def test_the_page_stands_alone_and_runs_no_text_of_others(html: str) -> None:
    assert not re.search(r"\ssrc=|href=\"(?!data:)|https?://|url\(", html)
    assert EVIL not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;.py" in html


def test_the_page_says_what_was_not_scored_what_failed_and_where_the_goal_was_raised(html: str) -> None:
    for words in ("not scored: c: no configuration works", "b (0.99)", "timeout", "25.0%", "12.5%", "<td>4</td>"):
        assert words in html


def test_curves_beyond_the_first_eight_are_off_until_switched_on(html: str) -> None:
    assert html.count('aria-pressed="true"') == 8
    assert html.count('class="line c9 off"') == 3


def test_u164_u166_a_value_that_is_no_number_leaves_no_hole_in_a_figure(html: str) -> None:
    assert "nan" not in html.lower()
    assert "inf" not in re.sub(r"<style>.*</style>", "", html.lower(), flags=re.S).replace("information", "")


def test_a_browser_shows_the_page_without_errors(html: str, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on PATH")
    file = tmp_path / "page.html"
    click = "<script>document.querySelectorAll('.keys button')[9].click();</script></body>"
    file.write_text(html.replace("</body>", click))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--window-size=390,800"]
    found = subprocess.run(
        [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in found.stderr
    assert 'class="line c9"' in found.stdout, "the button works"
