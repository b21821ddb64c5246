"""Situations that users of other tuners met, for every built-in optimizer."""

import random
from collections.abc import Callable
from math import inf

import pytest

from tunewright.budget import Budget
from tunewright.errors import OptionError
from tunewright.kernel import Measuring
from tunewright.measure import Measurement, Objective, Status, Stopped, Task
from tunewright.optimizers import load, names
from tunewright.optimizers.catalogue import hyperparameters
from tunewright.plan import STALL_REPEATS, AskTell, Outcome, drive
from tunewright.records import RecordedSpace
from tunewright.space import SearchSpace
from tunewright.tune import replay

ALL = pytest.mark.parametrize("name", names())
Cost = Callable[[dict[str, object]], float]


class Table:
    """Answers from a function of the configuration; counts what was asked."""

    def __init__(self, space: SearchSpace, cost: Cost) -> None:
        self.space, self.cost, self.asked = space, cost, []

    def prepare(self, ids: object) -> None:
        """Nothing to prepare."""

    def measure(self, ids: list[int]) -> list[Measurement]:
        self.asked += ids
        return [self._one(self.cost(self.space.config(i))) for i in ids]

    def _one(self, cost: float) -> Measurement:
        return Measurement(Status.CRASH) if cost == inf else Measurement(Status.OK, (cost,), benchmark_s=1.0)


def search(
    name: str,
    parameters: dict[str, list[object]],
    evaluations: int,
    cost: Cost = lambda c: 1.0,
    rules: tuple[str, ...] = (),
) -> tuple[Outcome, Table]:
    space = SearchSpace(parameters, rules)
    table = Table(space, cost)
    found = drive(load(name), space, table, Objective(), Budget(evaluations), random.Random(3))
    assert found.failure is None
    assert len(table.asked) == len(set(table.asked)) == len(found.trials)
    return found, table


@ALL
@pytest.mark.parametrize("limit", [1, 7, 50])
def test_u089_the_limit_holds_for_every_optimizer(name: str, limit: int) -> None:
    found, _ = search(name, {"x": [*range(10)], "y": [*range(10)]}, limit, lambda c: 1.0 + c["x"] + c["y"])  # type: ignore[operator]
    assert len(found.trials) == limit


@ALL
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_u090_a_budget_smaller_than_any_start_sample_is_spent_and_gives_a_result(name: str, limit: int) -> None:
    found, _ = search(name, {"x": [1, 2, 4, 8, 16, 32, 64]}, limit, lambda c: float(c["x"]))  # type: ignore[arg-type]
    assert len(found.trials) == limit
    assert all(trial.cost < inf for trial in found.trials)


@ALL
@pytest.mark.parametrize(
    ("parameters", "size"),
    [
        ({"x": [1, 2], "y": [1, 2]}, 4),
        ({"x": [1, 2, 3]}, 3),
        ({"lr": [0.0005, 0.0001, 5e-05], "n": [8]}, 3),
        ({"x": [4]}, 1),
    ],
    ids=["u091", "u096", "u100", "u106"],
)
def test_a_space_smaller_than_the_budget_ends_as_exhausted(name: str, parameters: dict, size: int) -> None:
    found, _ = search(name, parameters, 1000)
    assert (len(found.trials), found.stopped) == (size, Stopped.EXHAUSTED)


@ALL
def test_u094_isolated_configurations_end_no_search(name: str) -> None:
    found, table = search(name, {"a": [1, 2, 3, 4, 6], "b": [1, 2, 3, 4, 6]}, 100, rules=("a % b == 0",))
    assert (table.space.size, len(found.trials)) == (12, 12)


@ALL
def test_u095_proposals_depend_on_the_seed_and_on_no_global_generator(name: str) -> None:
    def sequence(seed: int, disturb: int) -> list[int]:
        space = SearchSpace({"x": [*range(12)], "y": [*range(12)]})

        def cost(c: dict[str, object]) -> float:
            random.seed(disturb)
            return 1.0 + (c["x"] - 5) ** 2 + (c["y"] - 2) ** 2  # type: ignore[operator]

        return [
            t.id
            for t in drive(load(name), space, Table(space, cost), Objective(), Budget(40), random.Random(seed)).trials
        ]

    state = random.getstate()
    try:
        assert sequence(7, 1) == sequence(7, 2)
        assert sequence(7, 1) != sequence(8, 1)
    finally:
        random.setstate(state)


@ALL
def test_u098_u102_repeats_cost_nothing_and_starve_nothing(name: str) -> None:
    found, _ = search(name, {"x": [*range(6)], "y": [*range(6)]}, 30, lambda c: 1.0 + (c["x"] + c["y"]) % 5)  # type: ignore[operator]
    assert len(found.trials) == 30
    found, _ = search(name, {"x": [*range(100)]}, 100, lambda c: float(c["x"]))  # type: ignore[arg-type]
    assert len(found.trials) == 100


def test_u099_an_optimizer_that_repeats_itself_is_stopped_and_keeps_its_results() -> None:
    def stuck(space, budget, rng, *, start=()):  # type: ignore[no-untyped-def]
        while True:
            yield [0]

    space = SearchSpace({"x": [1, 2, 3]})
    found = drive(stuck, space, Table(space, lambda c: 1.0), Objective(), Budget(10), random.Random(0))
    assert (found.stopped, len(found.trials), found.repeats) == (Stopped.STALLED, 1, STALL_REPEATS)


@ALL
def test_u101_one_parameter_is_searched_to_its_optimum(name: str) -> None:
    times = {1: 4.0, 2: 3.0, 4: 2.0, 8: 1.0}
    found, _ = search(name, {"x": list(times)}, 4, lambda c: times[c["x"]])  # type: ignore[index]
    assert min(trial.cost for trial in found.trials) == 1.0


@ALL
def test_u108_the_first_evaluations_are_valid_and_distinct(name: str) -> None:
    found, table = search(name, {"a": [0, 1, 2, 3], "b": [0, 1, 2, 3]}, 8, rules=("a + b <= 3",))
    assert table.space.size == 10
    assert len({trial.id for trial in found.trials}) == 8


@ALL
def test_u111_a_poor_start_is_evaluated_and_left_behind(name: str) -> None:
    times = {1: 5.0, 2: 4.0, 4: 4.5, 8: 6.0, 16: 7.0, 32: 3.0, 64: 1.0, 128: 2.0}
    space = SearchSpace({"bs": list(times)})
    rows = tuple(Measurement(Status.OK, (times[space.config(i)["bs"]],), benchmark_s=1.0) for i in range(space.size))  # type: ignore[index]
    recorded = RecordedSpace(Task("blocks"), space, rows)
    options = {"initial": 5} if "initial" in hyperparameters(load(name)) else {}
    run = replay(recorded, optimizer=name, evaluations=8, start=[space.require({"bs": 2})], options=options)
    assert run.best is not None
    assert space.config(run.best.id) == {"bs": 64}
    assert space.require({"bs": 2}) in {trial.id for trial in run.trials}


def test_u093_stating_the_default_objective_changes_nothing() -> None:
    assert Objective(metric="runtime_ms", goal="min") == Objective()
    with pytest.raises(OptionError, match="choose min or max"):
        Objective(metric="runtime_ms", goal="")


def test_u105_u107_a_share_is_of_what_is_there_and_has_one_meaning() -> None:
    assert Measuring(leaders=0.5).leaders_among(6) == 3
    assert Measuring(leaders=0.005).leaders_among(488) in (2, 3)
    assert Measuring(leaders=512).leaders_among(488) <= 512
    for nonsense in (0, -0.5, 1.5):
        with pytest.raises(OptionError):
            Measuring(leaders=nonsense)


def test_u113_a_cost_that_is_no_number_is_refused_with_what_to_do_and_a_failure_is_infinite() -> None:
    tuner = AskTell(SearchSpace({"x": [1, 2]}), load("random"), seed=1)
    with pytest.raises(OptionError, match="NaN; give inf for a configuration that failed"):
        tuner.tell([float("nan")])
    nan = Measurement(Status.OK, metrics={"cost": float("nan")})
    assert Objective(metric="cost").value(nan) == inf
