import math

import pytest

from tunewright.budget import Budget, Clock
from tunewright.errors import OptionError


@pytest.mark.parametrize("value", [0, -1, 1.5, True, math.nan, "10"])
def test_u027_evaluations_are_whole_numbers_of_at_least_one(value: object) -> None:
    with pytest.raises(OptionError, match="at least 1"):
        Budget(evaluations=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -0.5, math.nan, math.inf, True, "9"])
def test_u027_seconds_are_finite_and_positive(value: object) -> None:
    with pytest.raises(OptionError, match="above 0"):
        Budget(seconds=value)  # type: ignore[arg-type]


def test_spent_is_the_larger_share_and_never_above_one() -> None:
    clock = Clock(Budget(evaluations=10, seconds=100))
    clock.evaluations, clock.seconds = 2, 50.0
    assert clock.spent == 0.5
    clock.evaluations = 20
    assert clock.spent == 1.0


def test_without_limits_nothing_is_ever_spent() -> None:
    clock = Clock(Budget())
    clock.evaluations = 1000
    assert clock.spent == 0.0
