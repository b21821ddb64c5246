"""The final comparison of a run: the best few and the default are measured again, interleaved, and decided between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from statistics import median

from tunewright.decide import decide
from tunewright.errors import DeadlineError
from tunewright.kernel import Kernel
from tunewright.kernel.spec import FEWEST_ROUNDS
from tunewright.measure import Decision, Leader, Measurement, Objective, Status, Trial
from tunewright.runners.host import HostRunner
from tunewright.runners.program import ProgramRunner
from tunewright.space import SearchSpace

__all__ = ["measure_leaders"]

_UNDISTURBED = 0.95
"""Share of the wall time that a single thread gets of its core on a quiet machine, at least."""

_LEADERS_WITHIN = 1.25
"""Trials more than this factor above the best are not worth measuring again."""


def measure_leaders(
    kernel: Kernel, space: SearchSpace, runner: HostRunner | ProgramRunner, trials: Sequence[Trial], default: int
) -> Decision | None:
    """Measure the best few and the default again, interleaved, and decide between them.

    Args:
        kernel: says how many, how often, and what counts.
        space: of the ids.
        runner: measures.
        trials: what was found.
        default: id of the default configuration.

    Returns:
        The decision; None if nothing works.

    Raises:
        RunnerError: measuring cannot go on.
        DeadlineError: fewer rounds than a decision needs were done before the deadline.
    """
    works = [trial for trial in trials if trial.cost < inf]
    if not works:
        return None
    ids = _leaders(kernel, works, default)
    rounds = {
        i: [kernel.with_metrics(each, space.config(i)) for each in measured]
        for i, measured in runner.remeasure(ids, kernel.measuring.rounds).items()
    }
    done = min(map(len, rounds.values()))
    if done < FEWEST_ROUNDS:
        raise DeadlineError(f"{done} rounds were done before the deadline, a decision needs {FEWEST_ROUNDS}")
    value = _fair_objective(kernel.objective, [each for measured in rounds.values() for each in measured]).value
    decision = decide({i: [value(each) for each in measured] for i, measured in rounds.items()}, default)
    return None if decision is None else _with_metrics(decision, rounds, kernel.metrics)


def _leaders(kernel: Kernel, works: Sequence[Trial], default: int) -> list[int]:
    """Ids of the trials worth measuring again, the best first, and the default if it works."""
    value = _fair_objective(kernel.objective, [trial.measurement for trial in works]).value
    costs = sorted((value(trial.measurement), trial.id) for trial in works)
    limit = costs[0][0] + (_LEADERS_WITHIN - 1) * abs(costs[0][0])
    ids = [i for cost, i in costs[: kernel.measuring.leaders_among(len(costs))] if cost <= limit]
    if default not in ids and any(trial.id == default for trial in works):
        ids.append(default)
    return ids


def _fair_objective(objective: Objective, measurements: Sequence[Measurement]) -> Objective:
    """The processor's time instead of the wall's where other work was in the way of single-threaded runs.

    All of them must have it, and in a typical one at least 5 % of the wall time must be missing.
    """
    works = [measured for measured in measurements if measured.status is Status.OK]
    if objective.metric != "runtime_ms" or not all("cpu_ms" in measured.metrics for measured in works):
        return objective
    shares = [measured.metrics["cpu_ms"] / median(measured.runtimes_ms) for measured in works]
    if not shares or median(shares) >= _UNDISTURBED:
        return objective
    return replace(objective, metric="cpu_ms")


def _with_metrics(decision: Decision, rounds: Mapping[int, Sequence[Measurement]], names: Iterable[str]) -> Decision:
    """The decision with derived metrics, by name, for each leader."""

    def known(leader: Leader) -> Leader:
        return leader._replace(metrics={name: median(m.metrics[name] for m in rounds[leader.id]) for name in names})

    default = None if decision.default is None else known(decision.default)
    return replace(decision, best=known(decision.best), ties=tuple(map(known, decision.ties)), default=default)
