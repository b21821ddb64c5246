"""Where the recorded data and the case list lie; tests that need them skip where they are absent."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tunewright.space import SearchSpace

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the recorded data (../shared beside the repository) is not here")
    return SHARED


@pytest.fixture(scope="session")
def case(shared: Path) -> dict[str, dict[str, Any]]:
    """The smallest input of every reported case, by its id."""
    lines = (shared / "cases" / "reports.jsonl").read_text(encoding="utf-8").splitlines()
    return {report["id"]: report["smallest_input"] for report in map(json.loads, lines)}


def _brute_force(
    parameters: Mapping[str, Sequence[Any]],
    constraints: Sequence[str],
    constants: Mapping[str, Any] | None = None,
) -> list[tuple[Any, ...]]:
    """Return the valid combinations in lexicographic order, by Python's own eval; TypeErrors pass through."""
    compiled = [compile(text, "constraint", "eval") for text in constraints]
    found = []
    for values in itertools.product(*parameters.values()):
        scope = {**(constants or {}), **dict(zip(parameters, values, strict=True))}
        try:
            if all(eval(code, {}, scope) for code in compiled):  # noqa: S307 - what the package must agree with
                found.append(values)
        except ArithmeticError:
            continue
    return found


def _listed(space: SearchSpace) -> list[tuple[Any, ...]]:
    """Return all configurations of a space by id."""
    return [tuple(space.config(number).values()) for number in range(space.size)]


@pytest.fixture(scope="session")
def brute_force() -> Callable[..., list[tuple[Any, ...]]]:
    return _brute_force


@pytest.fixture(scope="session")
def listed() -> Callable[[SearchSpace], list[tuple[Any, ...]]]:
    return _listed
