"""The baseline is the expectation of random search: against enumeration, closed form and simulation."""

import itertools

import numpy as np
import pytest

from tunewright.bench.baseline import GOALS, UnscorableError, baseline, expected_best


def all_orders(costs: np.ndarray, seconds: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The expected best so far at each time, over every order there is; the median before the first."""
    median = np.median(costs[np.isfinite(costs)])
    worths = np.minimum(costs, median)
    total = np.zeros(len(times))
    orders = list(itertools.permutations(range(len(costs))))
    for order in orders:
        ends = np.cumsum(seconds[list(order)])
        best = np.concatenate([[median], np.minimum.accumulate(worths[list(order)])])
        total += best[np.searchsorted(ends, times, side="right")]
    return total / len(orders)


def test_the_expected_best_of_some_draws_agrees_with_enumeration() -> None:
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    for k in range(1, 7):
        exact = np.mean([min(draw) for draw in itertools.combinations(values, k)])
        assert expected_best(values, np.array([k]))[0] == pytest.approx(exact, rel=1e-12)


def test_with_unequal_times_the_baseline_agrees_with_all_orders() -> None:
    rng = np.random.default_rng(1)
    costs = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, np.inf, 8.0])
    seconds = rng.uniform(0.1, 5.0, 8)
    base = baseline(costs, seconds)
    exact = all_orders(costs, seconds, base.times_s)
    assert np.abs(base.values - exact).max() < 5 * 0.001 * (base.median - base.optimum)


def test_with_equal_times_the_baseline_is_the_closed_form_without_error() -> None:
    costs = np.random.default_rng(2).uniform(1, 2, 500)
    base = baseline(costs, np.full(500, 2.0))
    evaluations = np.floor(base.times_s / 2.0 + 1e-9).astype(int)
    worths = np.minimum(costs, np.median(costs))
    assert base.error < 1e-12
    assert base.values[:-1] == pytest.approx(expected_best(worths, evaluations[:-1]), rel=1e-12)


def test_the_window_begins_with_the_optimum_and_ends_at_the_goal() -> None:
    costs = np.random.default_rng(3).uniform(1, 2, 2000)
    seconds = np.random.default_rng(4).uniform(0.5, 1.5, 2000)
    base = baseline(costs, seconds)
    assert base.start_s == seconds[np.argmin(costs)]
    assert base.goal == 0.95
    assert base.values[-1] == pytest.approx(base.median - 0.95 * (base.median - base.optimum))
    assert base.error <= 0.001
    assert (np.diff(base.values) <= 0).all()


def test_a_window_too_short_to_tell_anything_gets_a_higher_goal() -> None:
    costs = np.concatenate([np.linspace(1.0, 1.01, 900), np.linspace(1.5, 3.0, 1100)])
    base = baseline(costs, np.ones(2000))
    assert base.goal in GOALS[1:]


@pytest.mark.parametrize(
    ("costs", "seconds", "words"),
    [
        ([np.inf, np.inf], [1.0, 1.0], "no configuration works"),
        ([1.0, 1.0, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0], "half of the configurations are optimal"),
        ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], "no evaluation takes time"),
    ],
)
def test_a_space_that_tells_nothing_says_why(costs: list[float], seconds: list[float], words: str) -> None:
    with pytest.raises(UnscorableError, match=words):
        baseline(np.array(costs), np.array(seconds))
