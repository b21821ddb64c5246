"""All runs of a comparison: every contestant on every space under some conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tunewright.bench.cell import CHUNK, Cell, Conditions, run_cells
from tunewright.bench.contestant import Contestant
from tunewright.bench.prepared import Prepared
from tunewright.bench.runs import Run
from tunewright.errors import OptionError

__all__ = ["Runs", "collect_runs"]

Runs = Mapping[tuple[str, str, Conditions], Sequence[Run]]
"""Runs by the contestant's label, the space's name and the conditions."""


def collect_runs(
    contestants: Sequence[Contestant],
    spaces: Sequence[Prepared],
    conditions: Callable[[Prepared], Sequence[Conditions]],
    repeats: int,
    *,
    jobs: int | None = None,
    run_timeout_s: float = 120.0,
    on_done: Callable[[int, int], None] | None = None,
) -> Runs:
    """Make all runs, or find them in the cache.

    Args:
        contestants: whom.
        spaces: where.
        conditions: of the runs on a space.
        repeats: runs of each contestant on each space under each of its conditions.
        jobs: processes at the same time; None: one for each core.
        run_timeout_s: wall seconds for one run.
        on_done: called with the number of finished cells and of all.

    Raises:
        OptionError: two contestants are the same, or a hyper-parameter does not fit.
    """
    labels = [contestant.label for contestant in contestants]
    if len(set(labels)) < len(labels):
        raise OptionError(f"{next(each for each in labels if labels.count(each) > 1)!r} is named twice")
    cells = [
        Cell(contestant, prepared, each, first, min(CHUNK, repeats - first))
        for contestant in contestants
        for prepared in spaces
        for each in conditions(prepared)
        for first in range(0, repeats, CHUNK)
    ]
    done = 0

    def count(*_: object) -> None:
        nonlocal done
        done += 1
        if on_done is not None:
            on_done(done, len(cells))

    runs: dict[tuple[str, str, Conditions], list[Run]] = {}
    for cell, made in zip(cells, run_cells(cells, jobs=jobs, run_timeout_s=run_timeout_s, on_done=count), strict=True):
        runs.setdefault((cell.contestant.label, cell.prepared.name, cell.conditions), []).extend(made)
    return runs
