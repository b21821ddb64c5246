"""The exact score: 0 for random search, 1 for the optimum at once, nothing above 0 where nothing can be learned."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tunewright.bench.cell import Cell, Conditions, run_cells
from tunewright.bench.contestant import contestant
from tunewright.bench.exact import best_so_far, fraction_of_optimum, score, trajectory
from tunewright.bench.prepared import Prepared, prepare
from tunewright.bench.runs import Run
from tunewright.bench.score import Request, score_contestants
from tunewright.bench.suite import read_suite
from tunewright.errors import OptionError

Make = Callable[..., Path]


@pytest.fixture
def prepared(suite_file: Make) -> Prepared:
    return prepare(read_suite(suite_file()).entries[0])


def runs_of(what: str, prepared: Prepared, count: int, **conditions: object) -> list[Run]:
    made = Conditions(**{"seconds": prepared.baseline.end_s, **conditions})  # type: ignore[arg-type]
    return run_cells([Cell(contestant(what), prepared, made, 0, count)])[0]


def scores(what: str, prepared: Prepared, count: int, **conditions: object) -> np.ndarray:
    found = [trajectory(prepared, run) for run in runs_of(what, prepared, count, **conditions)]
    return score(prepared.baseline, found)


def test_random_search_scores_zero_within_its_error(prepared: Prepared) -> None:
    found = scores("random", prepared, 3000)
    assert abs(found.mean()) < 4 * found.std() / np.sqrt(len(found))


def test_the_optimum_at_once_scores_one_and_nothing_at_all_scores_below_zero(prepared: Prepared) -> None:
    best = np.flatnonzero(prepared.costs == prepared.costs.min())
    quickest = best[np.argmin(prepared.seconds[best])]
    at_once = trajectory(prepared, Run(np.array([quickest], np.int32)))
    never = trajectory(prepared, Run(np.zeros(0, np.int32)))
    one, low = score(prepared.baseline, [at_once, never])
    assert one == pytest.approx(1.0)
    assert low < 0


def test_in_the_null_space_no_optimizer_scores_above_zero(prepared: Prepared) -> None:
    for name in ("local_search", "genetic", "ridge"):
        found = scores(name, prepared, 300, shuffled=True)
        assert found.mean() < 4 * found.std() / np.sqrt(len(found))
        assert scores(name, prepared, 50).mean() > 0.2, "the same optimizer does learn where something can be learned"


def test_the_score_is_the_integral_of_its_definition(prepared: Prepared) -> None:
    base = prepared.baseline
    [run] = runs_of("local_search", prepared, 1)
    times = np.linspace(base.start_s, base.end_s, 200_001)
    ends = np.cumsum(prepared.seconds[run.ids])
    best = np.minimum.accumulate(np.minimum(prepared.costs[run.ids], base.median))
    b = np.concatenate([[base.median], best])[np.searchsorted(ends, times, side="right")]
    baseline = np.interp(times, base.times_s, base.values)
    integral = np.mean((b - base.optimum) / (baseline - base.optimum))
    assert score(base, [trajectory(prepared, run)])[0] == pytest.approx(1 - integral, abs=2e-3)


def test_results_are_the_same_for_any_number_of_processes_and_pieces(prepared: Prepared) -> None:
    conditions = Conditions(seconds=prepared.baseline.end_s)
    genetic = contestant("genetic")
    cells = [Cell(genetic, prepared, conditions, first, 5) for first in (0, 5, 10)]
    apart = [run for runs in run_cells(cells, jobs=1) for run in runs]
    together = run_cells([Cell(genetic, prepared, conditions, 0, 15)], jobs=2)[0]
    assert [run.ids.tolist() for run in apart] == [run.ids.tolist() for run in together]


def test_with_noise_the_optimizer_sees_samples_and_the_score_counts_recorded_costs(prepared: Prepared) -> None:
    [run] = runs_of("random", prepared, 1, noise=True)
    assert run.observed is not None
    known = prepared.costs[run.ids]
    works = np.isfinite(known)
    assert (run.observed[works] != known[works]).any()
    assert set(trajectory(prepared, run).values) <= set(known)


def test_processor_time_can_be_put_on_the_clock(prepared: Prepared) -> None:
    [free] = runs_of("ridge", prepared, 1, evaluations=20, seconds=None)
    [charged] = runs_of("ridge", prepared, 1, evaluations=20, seconds=None, charge=1000.0)
    assert charged.charged_s is not None
    assert trajectory(prepared, charged).end_s > trajectory(prepared, free).end_s + charged.charged_s.sum() / 2


def test_u171_runs_of_unequal_length_keep_what_they_found_and_the_baseline_is_computed(prepared: Prepared) -> None:
    base = prepared.baseline
    works = np.flatnonzero(np.isfinite(prepared.costs))
    long, short = Run(works.astype(np.int32)), Run(works[:3].astype(np.int32))
    full, early = (trajectory(prepared, run) for run in (long, short))
    assert early.end_s < base.end_s < full.end_s
    kept = best_so_far(early, np.array([base.end_s]))[0]
    assert kept == prepared.costs[works[:3]].min()
    assert np.isfinite(score(base, [full, early])).all()


@pytest.mark.parametrize(("optimum", "value", "fraction"), [(2.0, 4.0, 0.5), (-4.0, -2.0, 0.5), (2.0, np.inf, 0.0)])
def test_the_fraction_of_the_optimum_has_a_meaning_on_both_sides_of_zero(optimum, value, fraction) -> None:
    assert fraction_of_optimum(optimum, value) == fraction


def test_a_better_optimizer_leads_the_table_with_an_interval_and_a_test(suite_file: Make) -> None:
    suite = read_suite(suite_file())
    spaces = [(prepare(entry), entry.family) for entry in suite.select()]
    table = score_contestants([contestant("random"), contestant("ridge")], spaces, Request(repeats=30))
    first, second = table.rows
    assert (first.contestant.label, second.contestant.label) == ("ridge", "random")
    assert first.interval.low < first.value < first.interval.high
    assert second.interval.high < first.interval.low
    assert second.p is not None
    assert second.p < 0.01
    assert first.wins == 2
    by_family = [np.mean([first.spaces["a"].value, first.spaces["b"].value]), first.spaces["c"].value]
    assert first.value == pytest.approx(np.mean(by_family)), "families count alike, whatever their number of spaces"
    assert first.spaces["a"].fraction_after[50] > second.spaces["a"].fraction_after[50]


def test_a_contestant_named_twice_is_refused(suite_file: Make) -> None:
    entry = read_suite(suite_file()).entries[0]
    with pytest.raises(OptionError, match="named twice"):
        score_contestants([contestant("random")] * 2, [(prepare(entry), "f")], Request(repeats=1))
