"""Scores of contestants on the spaces of a suite, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from tunewright.bench.baseline import UnscorableError
from tunewright.bench.campaign import collect_runs
from tunewright.bench.cell import Conditions
from tunewright.bench.contestant import Contestant
from tunewright.bench.exact import FRACTIONS, Trajectory, best_so_far, fraction_of_optimum, score, time_to, trajectory
from tunewright.bench.prepared import Prepared
from tunewright.bench.runs import Run
from tunewright.bench.statistics import (
    FLOOR,
    Interval,
    Vector,
    bootstrap,
    family_bootstrap,
    family_mean,
    holm,
    interval,
    paired_test,
)
from tunewright.errors import OptionError

__all__ = ["CURVE_POINTS", "EVALUATIONS", "ContestantScore", "Request", "SpaceScore", "Table", "score_contestants"]

EVALUATIONS = (5, 10, 20, 50, 100, 200, 400)
"""Budgets, in evaluations, at which the fraction of the optimum is reported; each has runs of its own."""

CURVE_POINTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """How to score.

    Attributes:
        repeats: runs of each contestant on each space.
        seed: of all random numbers.
        noise: answer with recorded samples drawn at random instead of the recorded value.
        shuffled: the null space: costs dealt out anew in each run.
        charge: tuning seconds that a processor second of the optimizer costs.
        fractions: also make the runs at fixed numbers of evaluations.
    """

    repeats: int = 100
    seed: int = 0
    noise: bool = False
    shuffled: bool = False
    charge: float = 0.0
    fractions: bool = True

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise OptionError(f"repeats must be at least 1, got {self.repeats}")
        if not 0 <= self.charge < inf:
            raise OptionError(f"charge must be finite and at least 0, got {self.charge}")


@dataclass(frozen=True, slots=True)
class SpaceScore:
    """A contestant on one space.

    Attributes:
        space, family: which one.
        value: mean over runs, no less than -1.
        interval: over seeds.
        runs: the score of each run.
        goal: how far random search has gone at the window's end.
        fraction_after: mean fraction of the optimum after so many evaluations.
        to_fraction: for each fraction of the optimum the median evaluations and seconds until it was reached (inf where
            more than half of the runs did not), and the share of runs that reached it.
        repeats: proposals answered from memory, as a share of all proposals.
        failures: failed configurations, as a share of the evaluations.
        ended_early: share of runs that ended before the budget.
        failed: why runs failed, and how many for this reason.
        evaluations: mean number of distinct evaluations.
        cpu_ms: processor time for each evaluation, the replay's own 0.002 ms included.
        curve: mean fraction of the way from the median to the optimum at points of the window, and its 95 % interval.
    """

    space: str
    family: str
    value: float
    interval: Interval
    runs: Vector
    goal: float
    fraction_after: Mapping[int, float]
    to_fraction: Mapping[float, tuple[float, float, float]]
    repeats: float
    failures: float
    ended_early: float
    failed: Mapping[str, int]
    evaluations: float
    cpu_ms: float
    curve: tuple[Vector, Vector, Vector, Vector]


@dataclass(frozen=True, slots=True)
class ContestantScore:
    """A contestant on the whole suite.

    Attributes:
        contestant: who.
        value: mean over families of the mean over each family's spaces.
        interval: over seeds: this suite, other random numbers.
        family_interval: over families: other kernels; None where there are fewer than three.
        families: score of each family.
        spaces: score of each space.
        rank: mean over families, 1 the best.
        wins: families in which it is the best.
        p: that it differs from the best contestant by chance alone, corrected for their number; None for the best.
        behind: the best one's score less this one's, and its interval over seeds.
    """

    contestant: Contestant
    value: float
    interval: Interval
    family_interval: Interval | None
    families: Mapping[str, float]
    spaces: Mapping[str, SpaceScore]
    rank: float = 0.0
    wins: int = 0
    p: float | None = None
    behind: tuple[float, Interval] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Contestants side by side, the best first.

    Attributes:
        rows: the contestants.
        unscored: spaces that cannot tell optimizers apart, and why.
        request: how they were scored.
    """

    rows: tuple[ContestantScore, ...]
    unscored: Mapping[str, str] = field(default_factory=dict)
    request: Request = field(default_factory=Request)


def score_contestants(
    contestants: Sequence[Contestant],
    spaces: Sequence[tuple[Prepared, str]],
    request: Request,
    *,
    jobs: int | None = None,
    run_timeout_s: float = 120.0,
    on_done: Callable[[int, int], None] | None = None,
) -> Table:
    """Run and score; what was run before under the same conditions is taken from the cache.

    Args:
        contestants: whom.
        spaces: prepared spaces, each with its kernel family.
        request: how.
        jobs: processes at the same time; None: one for each core.
        run_timeout_s: wall seconds for one run.
        on_done: called with the number of finished cells and of all.

    Raises:
        OptionError: no space can be scored, two contestants are the same, or an option does not fit.
    """
    scored, unscored = _scorable(spaces)
    if not scored:
        raise OptionError("no space can be scored: " + "; ".join(f"{name}: {why}" for name, why in unscored.items()))
    runs = collect_runs(
        contestants,
        [prepared for prepared, _ in scored],
        lambda prepared: _conditions(prepared, request),
        request.repeats,
        jobs=jobs,
        run_timeout_s=run_timeout_s,
        on_done=on_done,
    )
    families = {prepared.name: family for prepared, family in scored}
    rows = []
    for contestant in contestants:
        by_space = {
            prepared.name: _space_score(
                prepared,
                family,
                {
                    conditions.evaluations: runs[contestant.label, prepared.name, conditions]
                    for conditions in _conditions(prepared, request)
                },
            )
            for prepared, family in scored
        }
        rows.append(_suite_score(contestant, by_space, families))
    return Table(_compared(rows, families), unscored, request)


def _scorable(spaces: Sequence[tuple[Prepared, str]]) -> tuple[list[tuple[Prepared, str]], dict[str, str]]:
    """The spaces that have a baseline, and why the others have none."""
    scored, unscored = [], {}
    for prepared, family in spaces:
        try:
            _ = prepared.baseline
            scored.append((prepared, family))
        except UnscorableError as error:
            unscored[prepared.name] = str(error)
    return scored, unscored


def _limits(prepared: Prepared, request: Request) -> list[int | None]:
    """Budgets in evaluations; None stands for the window."""
    if not request.fractions:
        return [None]
    return [None, *(count for count in EVALUATIONS if count <= prepared.space.size)]


def _conditions(prepared: Prepared, request: Request) -> list[Conditions]:
    return [
        Conditions(
            seconds=prepared.baseline.end_s if limit is None else None,
            evaluations=limit,
            seed=request.seed,
            noise=request.noise,
            shuffled=request.shuffled,
            charge=request.charge,
        )
        for limit in _limits(prepared, request)
    ]


def _space_score(prepared: Prepared, family: str, runs: Mapping[int | None, Sequence[Run]]) -> SpaceScore:
    base = prepared.baseline
    main = runs[None]
    found = [trajectory(prepared, run) for run in main]
    scores = score(base, found)
    resampled = bootstrap({prepared.name: scores}, {prepared.name: family})
    evaluations = sum(each.count for each in found)
    proposals = evaluations + sum(run.repeats for run in main)
    failed: dict[str, int] = {}
    for run in main:
        if run.failure:
            failed[run.failure] = failed.get(run.failure, 0) + 1
    return SpaceScore(
        space=prepared.name,
        family=family,
        value=max(float(scores.mean()), FLOOR),
        interval=interval(resampled),
        runs=scores,
        goal=base.goal,
        fraction_after={
            limit: _mean_fraction(base.optimum, [trajectory(prepared, run) for run in each])
            for limit, each in runs.items()
            if limit is not None
        },
        to_fraction={fraction: _to_fraction(found, base.optimum, fraction) for fraction in FRACTIONS},
        repeats=1 - evaluations / proposals if proposals else 0.0,
        failures=sum(each.failures for each in found) / evaluations if evaluations else 0.0,
        ended_early=float(
            np.mean(
                [run.stopped != "budget" and each.end_s < base.end_s for run, each in zip(main, found, strict=True)]
            )
        ),
        failed=failed,
        evaluations=evaluations / len(main),
        cpu_ms=1e3 * sum(run.cpu_s for run in main) / evaluations if evaluations else 0.0,
        curve=_curve(prepared, found),
    )


def _mean_fraction(optimum: float, found: Sequence[Trajectory]) -> float:
    values = [each.values[-1] if len(each.values) else inf for each in found]
    return float(np.mean([fraction_of_optimum(optimum, float(value)) for value in values]))


def _to_fraction(found: Sequence[Trajectory], optimum: float, fraction: float) -> tuple[float, float, float]:
    """Median evaluations, median seconds, share of runs."""
    reached = np.array([time_to(each, optimum, fraction) for each in found])
    evaluations, seconds = (float(np.sort(column)[len(column) // 2]) for column in reached.T)
    return evaluations, seconds, float(np.isfinite(reached[:, 0]).mean())


def _curve(prepared: Prepared, found: Sequence[Trajectory]) -> tuple[Vector, Vector, Vector, Vector]:
    """Times, and how far the best so far has gone from the median to the optimum: mean, low and high end."""
    base = prepared.baseline
    times = np.linspace(0, base.end_s, CURVE_POINTS)
    values = np.array([np.minimum(best_so_far(each, times), base.median) for each in found])
    gone = (base.median - values) / (base.median - base.optimum)
    mean = gone.mean(axis=0)
    error = 1.96 * gone.std(axis=0, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.zeros_like(mean)
    return times, mean, mean - error, mean + error


def _suite_score(
    contestant: Contestant, spaces: Mapping[str, SpaceScore], families: Mapping[str, str]
) -> ContestantScore:
    by_family = {
        family: float(np.mean([each.value for each in spaces.values() if each.family == family]))
        for family in dict.fromkeys(families.values())
    }
    resampled = bootstrap({name: each.runs for name, each in spaces.items()}, families)
    return ContestantScore(
        contestant=contestant,
        value=float(family_mean({name: each.value for name, each in spaces.items()}, families)),
        interval=interval(resampled),
        family_interval=interval(family_bootstrap(by_family)) if len(by_family) >= 3 else None,
        families=by_family,
        spaces=spaces,
    )


def _compared(rows: Sequence[ContestantScore], families: Mapping[str, str]) -> tuple[ContestantScore, ...]:
    """The rows, best first, with ranks, wins, and the test of each against the best."""
    ordered = sorted(rows, key=lambda row: -row.value)
    best = ordered[0]
    scores = [{name: each.runs for name, each in row.spaces.items()} for row in ordered]
    ps = holm([paired_test(scores[0], other, families) for other in scores[1:]])
    resampled = [bootstrap(each, families) for each in scores]
    ranks = {
        family: {
            row.contestant.label: 1 + sum(o.families[family] > row.families[family] for o in ordered) for row in ordered
        }
        for family in best.families
    }
    compared = []
    for number, row in enumerate(ordered):
        own = [ranks[family][row.contestant.label] for family in ranks]
        compared.append(
            ContestantScore(
                contestant=row.contestant,
                value=row.value,
                interval=row.interval,
                family_interval=row.family_interval,
                families=row.families,
                spaces=row.spaces,
                rank=float(np.mean(own)),
                wins=own.count(1),
                p=ps[number - 1] if number else None,
                behind=(best.value - row.value, interval(resampled[0] - resampled[number])) if number else None,
            )
        )
    return tuple(compared)
