"""The conformance suite for optimizers: what every optimizer promises, checked."""

from __future__ import annotations

import importlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from math import inf
from typing import NamedTuple

from tunewright.budget import Budget
from tunewright.errors import OptimizerError
from tunewright.measure import Measurement, Objective, Status, Stopped
from tunewright.plan import Optimizer, Outcome, drive
from tunewright.space import SearchSpace

__all__ = ["EXEMPTIONS", "check_optimizer"]

EXEMPTIONS = {
    "scale": "proposals may change when all costs are multiplied",
    "shift": "proposals may change when a constant is added to all costs (log-cost models)",
    "negative": "costs of zero or below may be refused",
    "ends_early": "may finish before the budget is spent and the space is exhausted",
    "start": "does not look at `start`",
}
"""What an optimizer may declare not to promise; a published algorithm usually declares several."""

_EVALUATIONS = 60
_Cost = Callable[[SearchSpace, int], float]


class _Costs:
    """A runner that computes costs; `None` and infinity are failures."""

    def __init__(self, space: SearchSpace, cost: _Cost) -> None:
        self._space = space
        self._cost = cost

    def prepare(self, ids: object) -> None:
        """Nothing to prepare."""

    def measure(self, ids: Collection[int]) -> list[Measurement]:
        """A measurement with one metric, or a failure."""
        return [self._one(self._cost(self._space, i)) for i in ids]

    def _one(self, cost: float) -> Measurement:
        if cost == inf:
            return Measurement(Status.CRASH, benchmark_s=1.0)
        return Measurement(Status.OK, benchmark_s=1.0, metrics={"cost": cost})


class _Finding(NamedTuple):
    promise: str
    problem: str


def check_optimizer(optimizer: Optimizer, *, exempt: Collection[str] = ()) -> tuple[str, ...]:
    """Check that an optimizer keeps the promises of the protocol.

    Same seed, same proposals, in any process and for any hash seed; valid ids only; spaces of one
    configuration and of one parameter; spaces where everything or nearly everything fails; costs scaled,
    shifted, zero and negative; `start` first; no end before the budget is spent or the space exhausted.

    Args:
        optimizer: the generator function.
        exempt: keys of `EXEMPTIONS` that the optimizer declares.

    Returns:
        Remarks on what could not be checked (a function that another process cannot import).

    Raises:
        OptimizerError: promises that are broken, all of them, or an unknown exemption.
    """
    if unknown := set(exempt) - EXEMPTIONS.keys():
        raise OptimizerError(f"unknown exemptions {sorted(unknown)}; known are {', '.join(EXEMPTIONS)}")
    findings = [
        *_small_spaces(optimizer, exempt),
        *_failures(optimizer, exempt),
        *_costs(optimizer, exempt),
        *_seeds(optimizer),
        *([] if "start" in exempt else _start(optimizer)),
    ]
    skipped, elsewhere = _other_processes(optimizer)
    findings += elsewhere
    if findings:
        name = getattr(optimizer, "__name__", repr(optimizer))
        raise OptimizerError(f"{name} breaks the protocol:\n" + "\n".join(f"  {p}: {t}" for p, t in findings))
    return skipped


def _landscape() -> SearchSpace:
    """A constrained space with numbers, switches and texts."""
    return SearchSpace(
        {
            "x": [1, 2, 4, 8, 16, 32],
            "y": [1, 2, 3, 4, 5, 6],
            "on": [False, True],
            "order": ["ij", "ji", "tiled"],
        },
        ["x * y <= 64", "on or x < 32"],
    )


def _bowl(space: SearchSpace, i: int) -> float:
    """Small whole numbers, so that scaling by powers of two and shifting by whole numbers are exact."""
    c = space.config(i)
    return float(
        1
        + abs(int(c["x"]).bit_length() - 4) * 8
        + (int(c["y"]) - 4) ** 2
        + 16 * (c["order"] == "ij")
        + 4 * (not c["on"])
    )


def _run(
    optimizer: Optimizer,
    space: SearchSpace,
    cost: _Cost,
    *,
    seed: int = 1,
    evaluations: int | None = _EVALUATIONS,
    start: tuple[int, ...] = (),
) -> Outcome:
    return drive(
        optimizer,
        space,
        _Costs(space, cost),
        Objective(metric="cost"),
        Budget(evaluations),
        random.Random(seed),
        start=start,
    )


def _ids(outcome: Outcome) -> list[int]:
    return [trial.id for trial in outcome.trials]


def _went_on(promise: str, outcome: Outcome, exempt: Collection[str]) -> Iterator[_Finding]:
    if outcome.failure is not None:
        yield _Finding(promise, str(outcome.failure))
    elif outcome.stopped not in (Stopped.BUDGET, Stopped.EXHAUSTED) and "ends_early" not in exempt:
        yield _Finding(promise, f"{outcome.stopped.value} after {len(outcome.trials)} evaluations")


def _small_spaces(optimizer: Optimizer, exempt: Collection[str]) -> Iterator[_Finding]:
    spaces = {
        "one configuration": SearchSpace({"x": [7]}),
        "one parameter": SearchSpace({"x": [1, 2, 4, 8, 16]}),
        "two isolated configurations": SearchSpace({"x": [0, 1], "y": [0, 1]}, ["x == y"]),
    }
    for name, space in spaces.items():
        outcome = _run(optimizer, space, lambda _, i: float(i + 1), evaluations=None)
        yield from _went_on(f"a space of {name}", outcome, exempt)


def _failures(optimizer: Optimizer, exempt: Collection[str]) -> Iterator[_Finding]:
    space = _landscape()
    yield from _went_on("everything fails", _run(optimizer, space, lambda _, i: inf), exempt)
    rare = _run(optimizer, space, lambda s, i: _bowl(s, i) if i % 17 == 3 else inf)
    yield from _went_on("nearly everything fails", rare, exempt)


def _costs(optimizer: Optimizer, exempt: Collection[str]) -> Iterator[_Finding]:
    space = _landscape()
    plain = _run(optimizer, space, _bowl)
    yield from _went_on("ordinary costs", plain, exempt)
    variants: list[tuple[str, str, _Cost]] = [
        ("scale", "costs times 1024", lambda s, i: 1024 * _bowl(s, i)),
        ("scale", "costs divided by 1024", lambda s, i: _bowl(s, i) / 1024),
        ("shift", "costs plus 4096", lambda s, i: 4096 + _bowl(s, i)),
    ]
    if "negative" not in exempt:
        variants += [
            ("shift", "costs down to zero", lambda s, i: _bowl(s, i) - 1),
            ("shift", "negative costs", lambda s, i: _bowl(s, i) - 4096),
        ]
        flat = _run(optimizer, space, lambda _, i: 0.0)
        yield from _went_on("all costs zero", flat, exempt)
    for exemption, name, cost in variants:
        outcome = _run(optimizer, space, cost)
        yield from _went_on(name, outcome, exempt)
        if exemption not in exempt and outcome.failure is None and _ids(outcome) != _ids(plain):
            yield _Finding(name, "the proposals change")


def _seeds(optimizer: Optimizer) -> Iterator[_Finding]:
    space = _landscape()
    state = random.getstate()
    once = _ids(_run(optimizer, space, _bowl))
    random.seed(99)
    again = _ids(_run(optimizer, space, _bowl))
    random.setstate(state)
    if once != again:
        yield _Finding("same seed, same proposals", "two runs in one process differ")


def _start(optimizer: Optimizer) -> Iterator[_Finding]:
    first = _ids(_run(optimizer, _landscape(), _bowl, start=(5, 40)))[:2]
    if sorted(first) != [5, 40]:
        yield _Finding("start first", f"asked for ids 5 and 40, proposed {first}")


def _other_processes(optimizer: Optimizer) -> tuple[tuple[str, ...], list[_Finding]]:
    """Run in fresh processes with other hash seeds and compare the proposals."""
    module, name = getattr(optimizer, "__module__", ""), getattr(optimizer, "__qualname__", "")
    code = f"from tunewright.plan_check import _proposals; _proposals({module!r}, {name!r})"
    here = json.dumps(_ids(_run(optimizer, _landscape(), _bowl)))
    findings: list[_Finding] = []
    for hash_seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        if done.returncode == _CANNOT_IMPORT:
            return (f"another process cannot import {module}.{name}: hash seeds were not checked",), findings
        if done.returncode:
            findings.append(_Finding(f"hash seed {hash_seed}", done.stderr.strip().rpartition("\n")[2]))
        elif done.stdout.strip() != here:
            findings.append(_Finding(f"hash seed {hash_seed}", "the proposals change in another process"))
    return (), findings


_CANNOT_IMPORT = 17


def _proposals(module: str, name: str) -> None:
    """Run in a fresh process: write the proposals of the optimizer `module`.`name` to standard output."""
    optimizer = None
    with suppress(Exception):
        optimizer = getattr(importlib.import_module(module), name, None)
    if optimizer is None:
        sys.exit(_CANNOT_IMPORT)
    sys.stdout.write(json.dumps(_ids(_run(optimizer, _landscape(), _bowl))))
