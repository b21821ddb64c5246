"""Every situation of a covered area has a test that cites it, or is set aside with a reason."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT.parent / "shared" / "cases" / "reports.jsonl"
COVERED = ("1-", "2-", "3-", "4-", "5-", "9-")


def test_each_case_is_cited_by_a_test_or_set_aside() -> None:
    if not CASES.is_file():
        pytest.skip(f"the collection of cases is not at {CASES}")
    cited = {
        number.upper()
        for path in (ROOT / "tests").rglob("*.py")
        for number in re.findall(r"\bu\d{3}\b", path.read_text().replace("_", " "), re.IGNORECASE)
    }
    aside = set(re.findall(r"^\| (U\d{3}) \|", (ROOT / "docs" / "cases.md").read_text(), re.MULTILINE))
    wanted = {row["id"] for row in map(json.loads, CASES.read_text().splitlines()) if row["area"].startswith(COVERED)}
    assert wanted - cited - aside == set()
    assert aside & cited == set(), "set aside although a test cites it"
