import math

import pytest

from tunewright.errors import OptionError
from tunewright.measure import Measurement, Objective, Status, Stopped, Task, Trial, TuningRun


def run_of(*trials: Trial) -> TuningRun:
    return TuningRun(Task("k"), "digest", "random", "0", 0, Stopped.BUDGET, trials)


def test_only_ok_measurements_have_a_cost() -> None:
    objective = Objective()
    for status in Status:
        cost = objective.value(Measurement(status, (2.0, 4.0, 3.0)))
        assert cost == (3.0 if status is Status.OK else math.inf)


@pytest.mark.parametrize(("reduction", "expected"), [("median", 2.0), ("min", 1.0), ("mean", 4.0), ("max", 9.0)])
def test_the_objective_names_its_reduction(reduction: str, expected: float) -> None:
    assert Objective(reduction=reduction).value(Measurement(Status.OK, (1.0, 9.0, 2.0))) == expected


def test_a_maximised_metric_is_a_negated_cost() -> None:
    measured = Measurement(Status.OK, metrics={"gflops": 40.0})
    assert Objective("gflops", goal="max").value(measured) == -40.0


@pytest.mark.parametrize("metrics", [{}, {"energy_j": math.nan}, {"energy_j": math.inf}])
def test_an_absent_or_nonsensical_metric_never_wins(metrics: dict[str, float]) -> None:
    assert Objective("energy_j").value(Measurement(Status.OK, (1.0,), metrics=metrics)) == math.inf


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf])
def test_impossible_durations_are_refused(seconds: float) -> None:
    with pytest.raises(OptionError, match="duration"):
        Measurement(Status.OK, (1.0,), compile_s=seconds)


def test_ok_without_any_sample_is_refused() -> None:
    with pytest.raises(OptionError, match="at least one sample"):
        Measurement(Status.OK)


def test_an_unknown_reduction_or_goal_is_refused_with_the_choices() -> None:
    with pytest.raises(OptionError, match="median, min, mean, max"):
        Objective(reduction="average")
    with pytest.raises(OptionError, match="min or max"):
        Objective(goal="least")


def test_best_is_the_first_trial_of_least_cost_and_none_without_success() -> None:
    ok = Measurement(Status.OK, (1.0,))
    bad = Measurement(Status.CRASH)
    assert run_of(Trial(4, bad, math.inf, 1.0)).best is None
    assert run_of().best is None
    run = run_of(Trial(4, bad, math.inf, 1.0), Trial(2, ok, 1.0, 2.0), Trial(9, ok, 1.0, 3.0))
    assert run.best is not None
    assert run.best.id == 2
    assert run.counts == {Status.CRASH: 1, Status.OK: 2}
    assert run.clock_s == 3.0
