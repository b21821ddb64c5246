"""Contestants side by side by the published score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tunewright.bench.campaign import collect_runs
from tunewright.bench.cell import Conditions
from tunewright.bench.contestant import Contestant
from tunewright.bench.prepared import Prepared
from tunewright.bench.published import Points, PublishedBaseline, published_baseline, published_curve, published_error
from tunewright.bench.runs import Run
from tunewright.errors import OptionError

__all__ = ["PublishedRow", "score_published"]


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A contestant by the published score.

    Attributes:
        contestant: who.
        value: mean over spaces.
        error: its standard error over seeds.
        spaces: score, standard error and number of short runs of each space.
    """

    contestant: Contestant
    value: float
    error: float
    spaces: Mapping[str, tuple[float, float, int]]


def score_published(
    contestants: Sequence[Contestant],
    spaces: Sequence[Prepared],
    *,
    repeats: int = 100,
    seed: int = 0,
    jobs: int | None = None,
    run_timeout_s: float = 120.0,
    on_done: Callable[[int, int], None] | None = None,
) -> tuple[tuple[PublishedRow, ...], Mapping[str, str]]:
    """Run and score, the best first; also the spaces that cannot be scored, and why.

    Raises:
        OptionError: no space can be scored, or as for `collect_runs`.
    """
    bases: dict[str, PublishedBaseline] = {}
    unscored: dict[str, str] = {}
    for prepared in spaces:
        try:
            bases[prepared.name] = published_baseline(prepared.costs, prepared.published_seconds)
        except (ValueError, IndexError) as error:
            unscored[prepared.name] = str(error)
    scored = [prepared for prepared in spaces if prepared.name in bases]
    if not scored:
        raise OptionError("no space can be scored: " + "; ".join(f"{name}: {why}" for name, why in unscored.items()))

    def conditions(prepared: Prepared) -> list[Conditions]:
        return [Conditions(seconds=bases[prepared.name].budget_s, seed=seed, published=True)]

    runs = collect_runs(
        contestants, scored, conditions, repeats, jobs=jobs, run_timeout_s=run_timeout_s, on_done=on_done
    )
    rows = []
    for contestant in contestants:
        found = {}
        for prepared in scored:
            made = runs[contestant.label, prepared.name, conditions(prepared)[0]]
            found[prepared.name] = _space(bases[prepared.name], [_points(prepared, run) for run in made])
        value = float(np.mean([score for score, _, _ in found.values()]))
        spread = float(np.sqrt(sum(each**2 for _, each, _ in found.values())) / len(found))
        rows.append(PublishedRow(contestant, value, spread, found))
    return tuple(sorted(rows, key=lambda row: -row.value)), unscored


def _space(base: PublishedBaseline, points: Sequence[Points]) -> tuple[float, float, int]:
    """Score, error and short runs; without any evaluation on the axis, the score of always having the worst."""
    try:
        curve = published_curve(base, points)
        return curve.score, published_error(base, points), curve.short
    except ValueError:
        worst = (base.ascending[-1] - base.values) / (base.optimum - base.values)
        return float(worst.mean()), 0.0, len(points)


def _points(prepared: Prepared, run: Run) -> Points:
    costs = prepared.costs[run.ids]
    best = np.where(np.isfinite(costs), np.minimum.accumulate(costs) if len(costs) else costs, np.nan)
    return Points(np.cumsum(prepared.published_seconds[run.ids]), best)
