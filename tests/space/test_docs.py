"""The guide to search spaces is true."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_examples_of_the_guide_run() -> None:
    guide = Path(__file__).resolve().parents[2] / "docs" / "spaces.md"
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    result = doctest.testfile(str(guide), module_relative=False, optionflags=options)
    assert result.attempted > 15
    assert result.failed == 0
