import random
from collections.abc import Sequence
from math import inf

import numpy as np
import pytest

from tunewright.budget import Budget, Clock
from tunewright.errors import OptimizerError, OptionError, RunnerError
from tunewright.measure import Measurement, Objective, Status, Stopped
from tunewright.optimizers import load
from tunewright.plan import STALL_REPEATS, AskTell, Optimizer, Outcome, Plan, drive
from tunewright.space import SearchSpace

SPACE = SearchSpace({"x": list(range(100))})


class Costs:
    """Cost of an id: its distance from 42; one second each."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.prepared: list[list[int]] = []

    def prepare(self, ids: Sequence[int]) -> None:
        self.prepared.append(list(ids))

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        self.asked += ids
        return [Measurement(Status.OK, (abs(i - 42.0),), compile_s=0.25, verify_s=0.25, benchmark_s=0.5) for i in ids]


def run(optimizer: Optimizer, budget: Budget = Budget(), runner: Costs | None = None) -> Outcome:  # noqa: B008
    return drive(optimizer, SPACE, runner or Costs(), Objective(), budget, random.Random(0))


def proposing(*batches: object) -> Optimizer:
    def optimizer(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
        for batch in batches:  # noqa: UP028 - a tuple cannot receive the costs
            yield batch  # type: ignore[misc]

    return optimizer


def test_costs_come_back_in_the_order_of_the_proposals_repeats_included() -> None:
    answers = []

    def optimizer(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
        answers.append((yield [44, 40, 44, 42]))
        answers.append((yield [42, 45]))

    outcome = run(optimizer)
    assert answers == [[2.0, 2.0, 2.0, 0.0], [0.0, 3.0]]
    assert [trial.id for trial in outcome.trials] == [44, 40, 42, 45]
    assert outcome.repeats == 2
    assert outcome.stopped is Stopped.FINISHED


def test_the_last_batch_is_cut_at_the_budget_of_evaluations() -> None:
    runner = Costs()
    outcome = run(proposing([1, 2, 3], [4, 5, 6]), Budget(evaluations=4), runner)
    assert runner.asked == [1, 2, 3, 4]
    assert outcome.stopped is Stopped.BUDGET
    assert runner.prepared == [[1, 2, 3], [4]]


def test_tuning_seconds_are_compile_verify_and_benchmark_and_end_the_run() -> None:
    outcome = run(proposing(list(range(50))), Budget(seconds=3.5))
    assert [trial.clock_s for trial in outcome.trials] == [1.0, 2.0, 3.0, 4.0]
    assert outcome.stopped is Stopped.BUDGET


def test_a_space_that_is_known_completely_ends_the_run_as_exhausted() -> None:
    assert run(proposing(list(range(100)), [5])).stopped is Stopped.EXHAUSTED


@pytest.mark.parametrize("batch", [[7], [7, 7], []])
def test_endless_repeats_or_empty_batches_end_the_run_as_stalled(batch: list[int]) -> None:
    def optimizer(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
        while True:
            yield list(batch)

    outcome = run(optimizer)
    assert outcome.stopped is Stopped.STALLED
    assert outcome.repeats in (0, STALL_REPEATS, STALL_REPEATS + 1, STALL_REPEATS + len(batch))


@pytest.mark.parametrize("ids", [[100], [-1], [1.0], [True], ["3"], [None], 7, "7", [3, 1000], {3}])
def test_proposals_outside_the_space_are_refused_by_value(ids: object) -> None:
    outcome = run(proposing([1], ids))
    assert isinstance(outcome.failure, OptimizerError)
    assert repr(ids[-1] if isinstance(ids, list) else ids) in str(outcome.failure)
    assert len(outcome.trials) == 1, "what was measured before is kept"


def test_numpy_ids_are_accepted_as_plain_ints() -> None:
    outcome = run(proposing(np.array([3, 4]), [np.int64(5)]))
    assert [(trial.id, type(trial.id)) for trial in outcome.trials] == [(3, int), (4, int), (5, int)]


def test_an_optimizer_that_raises_ends_the_run_with_its_trials_kept() -> None:
    def optimizer(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
        yield [1, 2]
        yield [1 // 0]

    outcome = run(optimizer)
    assert len(outcome.trials) == 2
    assert "ZeroDivisionError" in str(outcome.failure)


def test_an_optimizer_cannot_swallow_the_stop() -> None:
    def optimizer(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
        i = swallowed = 0
        while swallowed < 2:  # for ever would be as harmless, but the interpreter complains at exit
            try:
                i += 1
                yield [i]
            except BaseException:
                swallowed += 1

    assert run(optimizer, Budget(evaluations=3)).stopped is Stopped.BUDGET


def test_an_interrupt_keeps_what_was_measured() -> None:
    class Interrupting(Costs):
        def measure(self, ids: Sequence[int]) -> list[Measurement]:
            if len(self.asked) == 2:
                raise KeyboardInterrupt
            return super().measure(ids)

    outcome = run(proposing([1, 2, 3]), runner=Interrupting())
    assert outcome.stopped is Stopped.INTERRUPTED
    assert len(outcome.trials) == 2


def test_a_runner_that_cannot_go_on_keeps_what_was_measured() -> None:
    class Failing(Costs):
        def measure(self, ids: Sequence[int]) -> list[Measurement]:
            if len(self.asked) == 2:
                raise RunnerError("the disk is full")
            return super().measure(ids)

    outcome = run(proposing([1, 2, 3]), runner=Failing())
    assert outcome.stopped is Stopped.INTERRUPTED
    assert len(outcome.trials) == 2
    assert str(outcome.failure) == "the disk is full"


def test_the_optimizer_sees_the_share_of_the_budget_spent() -> None:
    shares = []

    def optimizer(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
        for i in range(4):
            shares.append(budget.spent)
            yield [i]

    run(optimizer, Budget(evaluations=4))
    assert shares == [0.0, 0.25, 0.5, 0.75]


def test_ask_tell_and_drive_see_the_same_proposals() -> None:

    for name in ("genetic", "annealing"):
        tuner = AskTell(SPACE, load(name), seed=3, budget=Budget(evaluations=30))
        asked: list[int] = []
        while ids := tuner.ask():
            assert tuner.ask() == ids, "asking again changes nothing"
            asked += ids
            tuner.tell([abs(i - 42.0) for i in ids])
        driven = drive(load(name), SPACE, Costs(), Objective(), Budget(evaluations=30), random.Random(3))
        assert asked == [trial.id for trial in driven.trials]
        assert tuner.stopped is Stopped.BUDGET
        assert len(tuner.costs) == 30


def test_tell_refuses_what_was_not_asked() -> None:
    tuner = AskTell(SPACE, proposing([1, 2]))
    with pytest.raises(OptionError, match="2 costs"):
        tuner.tell([1.0])
    with pytest.raises(OptionError, match="NaN"):
        tuner.tell([1.0, float("nan")])
    with pytest.raises(OptionError, match="exactly the ids"):
        tuner.tell({1: 1.0, 3: 2.0})
    with pytest.raises(OptionError, match="seconds"):
        tuner.tell([1.0, 2.0], seconds=-1)
    tuner.tell({2: 5.0, 1: inf})
    assert tuner.best == (2, 5.0)
    assert tuner.stopped is Stopped.FINISHED
    with pytest.raises(OptionError, match="nothing was asked"):
        tuner.tell([1.0])


def test_ask_cuts_the_last_batch_at_the_budget() -> None:
    tuner = AskTell(SPACE, proposing([1, 2, 3]), budget=Budget(evaluations=2))
    assert tuner.ask() == [1, 2]
    tuner.tell([1.0, 2.0])
    assert tuner.ask() == []
    assert tuner.stopped is Stopped.BUDGET
    assert tuner.best == (1, 1.0)


def test_what_cannot_be_asked_of_an_optimizer_is_an_option_error() -> None:
    for optimizer, options, start in (
        (proposing([1]), {"speed": 3}, ()),
        (proposing([1]), {}, (100,)),
        ("ridge", {}, ()),
    ):
        with pytest.raises(OptionError):
            AskTell(SPACE, optimizer, options=options, start=start)  # type: ignore[arg-type]
    with pytest.raises(OptimizerError, match="generator function"):
        AskTell(SPACE, lambda *_, **__: [1])  # type: ignore[arg-type,return-value]


def test_ask_tell_ends_with_an_optimizer_that_raises() -> None:
    def optimizer(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
        yield [1]
        raise ValueError("no")

    tuner = AskTell(SPACE, optimizer)
    with pytest.raises(OptimizerError, match="ValueError: no"):
        tuner.tell([1.0])
    assert tuner.ask() == []
    assert tuner.stopped is Stopped.FINISHED
    with pytest.raises(OptionError, match="no number"):
        AskTell(SPACE, proposing([1])).tell(["x"])  # type: ignore[list-item]


def test_an_optimizer_cannot_end_the_process() -> None:
    def optimizer(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
        yield [1]
        raise SystemExit(5)

    outcome = run(optimizer)
    assert len(outcome.trials) == 1
    assert "SystemExit" in str(outcome.failure)
