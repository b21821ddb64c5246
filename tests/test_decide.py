import random
from math import inf
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunewright.decide import decide, median_interval
from tunewright.errors import OptionError


@pytest.mark.parametrize(("n", "low", "high"), [(1, 1, 1), (5, 1, 5), (6, 1, 6), (8, 1, 8), (9, 2, 8), (20, 6, 15)])
def test_the_interval_of_a_median_uses_the_tabulated_order_statistics(n: int, low: int, high: int) -> None:
    """Tabulated values: Conover, Practical Nonparametric Statistics, confidence interval for a quantile."""
    assert median_interval(range(1, n + 1)) == (low, high)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_the_interval_contains_the_median(values: list[float]) -> None:
    low, high = median_interval(values)
    assert low <= median(values) <= high


def test_the_interval_covers_the_true_median_as_often_as_it_says() -> None:
    rng = random.Random(4)
    hits = 0
    for _ in range(2000):
        low, high = median_interval([rng.gauss(0, 1) for _ in range(11)])
        hits += low <= 0 <= high
    assert hits >= 0.95 * 2000


def test_no_values_have_no_interval() -> None:
    with pytest.raises(OptionError):
        median_interval([])


def test_a_clear_winner_has_no_ties_and_a_speedup_over_the_default() -> None:
    decision = decide({3: [2.0] * 9, 7: [1.0] * 9, 5: [1.5] * 9}, default=3)
    assert decision is not None
    assert decision.best.id == 7
    assert decision.ties == ()
    assert (decision.speedup, decision.speedup_low, decision.speedup_high) == (2.0, 2.0, 2.0)


def test_configurations_within_noise_are_ties_even_when_all_drift_together() -> None:
    drift = [1.0, 1.2, 1.5, 1.1, 0.9, 1.3, 1.0, 1.4, 1.6]
    wiggle = [1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.01, 1.0]
    decision = decide(
        {
            1: drift,
            2: [d * w for d, w in zip(drift, wiggle, strict=True)],
            3: [d * 1.1 for d in drift],
        },
        default=None,
    )
    assert decision is not None
    assert {decision.best.id, *(tie.id for tie in decision.ties)} == {1, 2}


def test_a_configuration_that_fails_in_any_round_is_out() -> None:
    decision = decide({1: [0.5, inf, 0.5], 2: [1.0, 1.0, 1.0]}, default=1)
    assert decision is not None
    assert decision.best.id == 2
    assert decision.default is None
    assert decision.speedup is None
    assert decide({1: [inf]}, default=1) is None
    assert decide({}, default=None) is None


def test_the_default_can_be_the_best() -> None:
    decision = decide({1: [1.0] * 9, 2: [2.0] * 9}, default=1)
    assert decision is not None
    assert decision.best.id == 1
    assert decision.speedup == 1.0
