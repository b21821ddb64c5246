"""Every built-in optimizer keeps every promise of the protocol and beats chance where it should."""

import random
from pathlib import Path
from statistics import fmean

import pytest

from tunewright.budget import Budget
from tunewright.errors import OptimizerError, OptionError
from tunewright.measure import Measurement, Objective, Status, Stopped, Task
from tunewright.optimizers import exemptions, hyperparameter_values, hyperparameters, load, names
from tunewright.plan import drive
from tunewright.records import RecordedSpace
from tunewright.runners.replay import ReplayRunner
from tunewright.space import SearchSpace
from tunewright.testing import check_optimizer
from tunewright.tune import replay


@pytest.mark.parametrize("name", names())
def test_a_built_in_optimizer_conforms(name: str) -> None:
    assert check_optimizer(load(name), exempt=exemptions(name)) == ()


def test_only_renderings_of_published_algorithms_declare_exemptions() -> None:
    assert {name for name in names() if exemptions(name)} <= {"adaptive_tabu_grey_wolf", "hybrid_vndx"}


@pytest.mark.parametrize("name", names())
def test_every_option_that_changes_a_search_lists_values_and_its_default_is_one(name: str) -> None:
    values = hyperparameter_values(name)
    defaults = hyperparameters(load(name))
    assert values.keys() == defaults.keys() - {"batch"}
    for option, choices in values.items():
        assert defaults[option] in choices
        assert len(set(choices)) == len(choices) >= 2
        assert {type(choice) for choice in choices} == {type(defaults[option])}


@pytest.mark.parametrize("name", names())
def test_every_listed_value_is_accepted(name: str) -> None:
    recorded = valley()
    for option, choices in hyperparameter_values(name).items():
        for choice in choices:
            run = replay(recorded, optimizer=name, evaluations=30, options={option: choice})
            assert len(run.trials) == 30


def test_no_two_built_in_optimizers_propose_the_same_sequence() -> None:
    recorded = valley()
    sequences = {name: [t.id for t in replay(recorded, optimizer=name, evaluations=200).trials] for name in names()}
    assert len({tuple(ids) for ids in sequences.values()}) == len(names())


def valley() -> RecordedSpace:
    """1,296 configurations whose cost falls towards one of them."""
    space = SearchSpace({name: [2**k for k in range(6)] for name in "abcd"}, ["a * b <= 256"])
    goal = space.find({"a": 8, "b": 4, "c": 16, "d": 2})
    assert goal is not None
    target = space.codes[goal]
    costs = 1.0 + ((space.codes - target) ** 2).sum(axis=1)
    rows = tuple(Measurement(Status.OK, (float(cost),), benchmark_s=1.0) for cost in costs)
    return RecordedSpace(Task("valley"), space, rows)


@pytest.mark.parametrize("name", [name for name in names() if name != "random"])
def test_an_optimizer_beats_random_search_where_the_landscape_leads(name: str) -> None:
    recorded = valley()

    def mean_best(optimizer: str) -> float:
        runs = [replay(recorded, optimizer=optimizer, evaluations=60, seed=seed) for seed in range(12)]
        return fmean(run.best.cost for run in runs if run.best)

    assert mean_best(name) < mean_best("random")


@pytest.mark.parametrize("name", names())
def test_a_space_too_large_to_enumerate_is_searched(name: str) -> None:
    space = SearchSpace({f"p{k}": list(range(1, 17)) for k in range(13)}, ["p0 * p1 <= 64"])
    assert space.size > 2**50

    class Sum:
        def prepare(self, ids: object) -> None:
            pass

        def measure(self, ids: list[int]) -> list[Measurement]:
            return [Measurement(Status.OK, (float(sum(space.config(i).values())),)) for i in ids]  # type: ignore[arg-type]

    outcome = drive(load(name), space, Sum(), Objective(), Budget(evaluations=60), random.Random(0))
    assert outcome.failure is None
    assert outcome.stopped is Stopped.BUDGET


@pytest.mark.parametrize("name", ["random", "ridge"])
def test_batches_are_distinct_and_as_large_as_asked(name: str) -> None:
    batches: list[int] = []

    class Watching(ReplayRunner):
        def prepare(self, ids: object) -> None:
            batches.append(len(set(ids)))  # type: ignore[call-overload]

    recorded = valley()
    drive(
        load(name),
        recorded.space,
        Watching(recorded),
        recorded.objective,
        Budget(evaluations=40),
        random.Random(0),
        options={"batch": 5},
    )
    assert set(batches[1:]) == {5}


def test_an_unknown_name_lists_the_choices_and_the_nearest() -> None:
    with pytest.raises(OptionError, match=r"did you mean 'annealing'\. Built in are .*annealing, .*random, "):
        load("anealing")


def test_an_optimizer_is_loaded_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def mine(space, budget, rng, *, start=(), step=3):\n    yield list(range(0, space.size, step))\n")
    assert hyperparameters(load(str(file))) == {"step": 3}
    assert hyperparameter_values(str(file)) == {}
    assert exemptions(str(file)) == frozenset()
    assert len(replay(valley(), optimizer=f"{file}:mine").trials) == valley().space.size // 3


def test_a_file_declares_values_worth_trying_and_what_it_does_not_promise(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        'HYPERPARAMETERS = {"step": [1, 2]}\nEXEMPT = {"start"}\n'
        "def mine(space, budget, rng, *, start=(), step=1):\n    yield [0]\n"
    )
    assert hyperparameter_values(f"{file}:mine") == {"step": (1, 2)}
    assert exemptions(f"{file}:mine") == {"start"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('HYPERPARAMETERS = {"stop": [1]}', "names 'stop'; its options are step"),
        ('HYPERPARAMETERS = {"step": "12"}', "must list values of 'step', not '12'"),
        ('HYPERPARAMETERS = {"step": []}', "must list values of 'step'"),
        ("HYPERPARAMETERS = 3", "must map options to values"),
    ],
)
def test_values_that_cannot_be_tried_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"{text}\ndef mine(space, budget, rng, *, start=(), step=1):\n    yield [0]\n")
    with pytest.raises(OptimizerError, match=message):
        hyperparameter_values(str(file))


def test_exemptions_that_are_a_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text('EXEMPT = "start"\ndef mine(space, budget, rng, *, start=()):\n    yield [0]\n')
    with pytest.raises(OptimizerError, match="must be a set of names"):
        exemptions(str(file))


@pytest.mark.parametrize(
    ("text", "message"),
    [("def mine(:", "fails on import: SyntaxError"), ("mine = 3", "holds no generator function 'mine'")],
)
def test_a_broken_optimizer_file_is_named_with_its_fault(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(OptimizerError, match=message):
        load(str(file))


def test_a_missing_optimizer_file_is_an_option_error() -> None:
    with pytest.raises(OptionError, match="does not exist"):
        load("nowhere.py")


@pytest.mark.parametrize("parameters", [50, 200])
def test_the_default_optimizer_copes_with_many_parameters(parameters: int) -> None:
    space = SearchSpace({f"p{k}": [0, 1] for k in range(parameters)})

    class Ones:
        def prepare(self, ids: object) -> None:
            pass

        def measure(self, ids: list[int]) -> list[Measurement]:
            return [Measurement(Status.OK, (1.0 + sum(map(int, space.config(i).values())),)) for i in ids]

    outcome = drive(load("ridge"), space, Ones(), Objective(), Budget(evaluations=30), random.Random(0))
    assert outcome.failure is None
    assert len(outcome.trials) == 30
