"""Other tuners as contestants: what they propose is what they would propose, and their defects are counted."""

import importlib.util
import itertools
import random
from collections.abc import Callable
from math import inf
from pathlib import Path

import numpy as np
import pytest

from tunewright.bench import foreign
from tunewright.bench.cell import Cell, Conditions, run_cells
from tunewright.bench.contestant import contestant
from tunewright.bench.foreign import FOREIGN, Over, Simulation, hyperparameter_values, seeded
from tunewright.bench.prepared import Prepared, prepare
from tunewright.bench.runs import Run
from tunewright.bench.simulate import Problem, make_run
from tunewright.bench.suite import read_suite
from tunewright.budget import Budget
from tunewright.errors import OptionError
from tunewright.measure import Measurement, Status, Stopped
from tunewright.plan import STALL_REPEATS
from tunewright.records import RecordedSpace, read_record, write_record
from tunewright.space import SearchSpace

Stub = Callable[[str], None]
METHODS = {
    "kernel_tuner": "walk",
    "optuna": "tpe",
    "pyatf": "default",
    "opentuner": "default",
}
CONSTRAINED = SearchSpace({"x": [1, 2, 4, 8], "kind": ["a", "b"], "y": [1, 2, 3], "one": [5]}, ["x * y <= 12"])


def installed(package: str) -> bool:
    """Whether a package is there; does not import it: some warn at once."""
    return importlib.util.find_spec(package) is not None


needs_kernel_tuner = pytest.mark.skipif(not installed("kernel_tuner"), reason="Kernel Tuner is not installed")


@pytest.fixture
def prepared(suite_file: Callable[..., Path]) -> Prepared:
    return prepare(read_suite(suite_file()).entries[0])


def simulation(space: SearchSpace = CONSTRAINED, **budget: float) -> Simulation:
    """Costs are ids, every fifth configuration fails, each takes half a second."""

    def measure(ids: tuple[int, ...]) -> list[Measurement]:
        [i] = ids
        if i % 5 == 3:
            return [Measurement(Status.CRASH, benchmark_s=0.5)]
        return [Measurement(Status.OK, benchmark_s=0.5, metrics={"cost": float(i)})]

    return Simulation(space, measure, Budget(**budget))  # type: ignore[arg-type]


def played(what: str, played: Simulation, seed: str = "s", **options: object) -> str:
    kind, _, target = what.partition(":")
    return foreign.play(kind, target, options, played, seed)


def run_of(what: str, prepared: Prepared, number: int = 0, **conditions: object) -> Run:
    chosen = contestant(what)
    made = {**{name: getattr(Conditions(), name) for name in Conditions.__slots__}, **conditions}
    request = {"kind": chosen.kind, "target": chosen.target, "options": chosen.options, "conditions": made}
    return make_run(Problem.load(str(prepared.folder), prepared.name), request, number)


# The run.


def test_a_run_ends_with_its_budget_of_seconds_or_evaluations() -> None:
    for budget, count in (({"seconds": 2.1}, 5), ({"evaluations": 4}, 4), ({}, CONSTRAINED.size)):
        run = simulation(**budget)
        with pytest.raises(Over):
            list(map(run.cost, range(CONSTRAINED.size)))
        assert list(run.known) == list(range(count))
        assert run.stopped is (Stopped.BUDGET if budget else Stopped.EXHAUSTED)


@pytest.mark.parametrize("useless", [0, None])
def test_an_endless_row_of_known_or_invalid_proposals_is_stalled(useless: int | None) -> None:
    run = simulation(seconds=10.0)
    run.cost(0)
    with pytest.raises(Over):
        list(map(run.cost, itertools.repeat(useless)))
    assert (run.stopped, run.repeats, run.seconds) == (Stopped.STALLED, STALL_REPEATS, 0.5)


def test_known_configurations_are_free_and_answered_alike() -> None:
    run = simulation(seconds=10.0)
    assert [run.cost(i) for i in (7, 3, 7, None)] == [7.0, inf, 7.0, inf]
    assert (run.seconds, run.repeats, run.spent) == (1.0, 2, 0.1)


def test_global_generators_are_seeded_and_put_back() -> None:
    def draws() -> list[float]:
        with seeded("a"):
            return [random.random(), np.random.rand(), np.random.default_rng().random()]

    before, before_numpy = random.getstate(), np.random.get_state()[1].tolist()
    first = draws()
    assert draws() == first
    assert random.getstate() == before
    assert np.random.get_state()[1].tolist() == before_numpy


# Bridges, with stand-ins for the packages.


@pytest.mark.parametrize("kind", METHODS)
def test_a_bridge_plays_a_run_without_knowing_constraints_or_the_clock(kind: str, stub: Stub) -> None:
    stub(kind)
    run = simulation(evaluations=12)
    assert played(f"{kind}:{METHODS[kind]}", run) == ""
    again = simulation(evaluations=12)
    played(f"{kind}:{METHODS[kind]}", again)
    other = simulation(evaluations=12)
    played(f"{kind}:{METHODS[kind]}", other, seed="t")
    assert run.stopped is Stopped.BUDGET
    assert len(run.known) == 12
    assert list(run.known) == list(again.known)
    assert list(run.known) != list(other.known)


@pytest.mark.parametrize("kind", METHODS)
def test_a_bridge_refuses_unknown_methods_and_options(kind: str, stub: Stub) -> None:
    stub(kind)
    with pytest.raises(OptionError, match=METHODS[kind]):
        played(f"{kind}:nonsense", simulation(evaluations=5))
    with pytest.raises(OptionError, match="option"):
        played(f"{kind}:{METHODS[kind]}", simulation(evaluations=5), nonsense=3)


def test_failed_and_invalid_configurations_are_told_in_each_tuners_own_words(stub: Stub) -> None:
    for kind in ("optuna", "pyatf", "opentuner"):
        stub(kind)
        assert played(f"{kind}:{METHODS[kind]}", simulation()) == ""
    import opentuner.api
    import optuna
    import pyatf

    assert optuna.trial.TrialState.PRUNED in optuna.told
    assert None in pyatf.Tuner.told
    assert {result.state for result in opentuner.api.told if result.time == inf} == {"ERROR"}
    for told in (optuna.told, pyatf.Tuner.told, [r.time for r in opentuner.api.told]):
        assert 7.0 in told


@pytest.mark.parametrize(
    ("target", "stopped"), [("first", Stopped.STALLED), ("nowhere", Stopped.STALLED), ("early", None), ("raises", None)]
)
def test_what_a_strategy_does_wrong_is_shown(target: str, stopped: Stopped | None, stub: Stub) -> None:
    stub("kernel_tuner")
    run = simulation(seconds=100.0)
    failure = played(f"kernel_tuner:{target}", run)
    assert run.stopped is stopped
    assert failure == ("kernel_tuner:raises raised ZeroDivisionError: by nought" if target == "raises" else "")


def test_invalid_proposals_of_a_strategy_are_counted(stub: Stub) -> None:
    stub("kernel_tuner")
    plain, invalid = simulation(evaluations=8), simulation(evaluations=8)
    played("kernel_tuner:walk", plain)
    played("kernel_tuner:walk", invalid, invalid=True)
    assert invalid.repeats > plain.repeats > 0


ALGORITHM = """
from kernel_tuner.strategies.wrapper import OptAlg

class Sweep(OptAlg):
    def __init__(self, step=1):
        super().__init__()
        self.step = step

    def __call__(self, func, searchspace):
        i = 0
        while func.budget_spent_fraction < 1:
            func(searchspace.list[i % searchspace.size])
            i += self.step
"""


def test_a_class_in_a_file_is_a_contestant(stub: Stub, prepared: Prepared, tmp_path: Path) -> None:
    stub("kernel_tuner")
    file = tmp_path / "mine.py"
    file.write_text(ALGORITHM)
    run = run_of(f"kernel_tuner:{file}:Sweep,step=2", prepared, evaluations=5)
    assert run.ids.tolist() == [0, 2, 4, 6, 8]
    assert run_of(f"kernel_tuner:{file}", prepared, evaluations=3).ids.tolist() == [0, 1, 2]
    for what, words in ((":Other", "Sweep"), (":Sweep,stride=2", "stride")):
        with pytest.raises(OptionError, match=words):
            run_of(f"kernel_tuner:{file}{what}", prepared, evaluations=3)
    file.write_text("nonsense")
    foreign.method.cache_clear()
    with pytest.raises(OptionError, match="fails on import"):
        run_of(f"kernel_tuner:{file}", prepared, evaluations=3)


def test_noise_the_null_space_and_charges_hold_for_other_tuners(stub: Stub, prepared: Prepared) -> None:
    stub("kernel_tuner")
    plain = run_of("kernel_tuner:walk", prepared, evaluations=20)
    noisy = run_of("kernel_tuner:walk", prepared, evaluations=20, noise=True)
    dealt = run_of("kernel_tuner:walk", prepared, evaluations=20, shuffled=True)
    charged = run_of("kernel_tuner:walk", prepared, evaluations=20, charge=1.0)
    assert plain.observed is None
    assert noisy.observed is not None
    assert noisy.ids.tolist() == plain.ids.tolist() == charged.ids.tolist()
    assert dealt.ids.tolist() != plain.ids.tolist()
    assert charged.charged_s is not None
    assert (charged.charged_s > 0).all()


def test_a_package_that_is_missing_is_named_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    for kind in FOREIGN:
        with pytest.raises(OptionError, match=rf"pip install 'tunewright\[{kind.replace('_', '-')}\]'"):
            contestant(f"{kind}:anything")


def test_identity_is_the_packages_version_and_the_files_text(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub("kernel_tuner")
    file = tmp_path / "mine.py"
    file.write_text(ALGORITHM)
    codes = [contestant(f"kernel_tuner:{file}").code, contestant("kernel_tuner:walk").code]
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "99.0")
    codes += [contestant("kernel_tuner:walk").code, contestant(f"kernel_tuner:{file}").code]
    file.write_text(ALGORITHM + "\n")
    codes.append(contestant(f"kernel_tuner:{file}").code)
    assert len(set(codes)) == 5
    with pytest.raises(OptionError, match="does not exist"):
        contestant("kernel_tuner:nowhere.py:Class")


# The packages themselves, where they are installed.


@pytest.mark.parametrize(
    "what",
    [
        "kernel_tuner:greedy_ils",
        "kernel_tuner:diff_evo",
        "optuna:tpe",
        "pyatf:default",
        "pyatf:differential_evolution",
        "opentuner:default",
    ],
)
def test_a_tuner_plays_in_a_limited_process_and_repeats_itself(what: str, prepared: Prepared, tmp_path: Path) -> None:
    if not installed(what.partition(":")[0]):
        pytest.skip(f"{what.partition(':')[0]} is not installed")
    conditions, chosen = Conditions(evaluations=30), contestant(what)
    [together] = run_cells([Cell(chosen, prepared, conditions, 0, 2)], folder=tmp_path / "together")
    apart = run_cells([Cell(chosen, prepared, conditions, i, 1) for i in (0, 1)], folder=tmp_path / "apart")
    assert [run.failure for run in together] == ["", ""]
    assert [len(run.ids) for run in together] == [30, 30]
    assert [run.ids.tolist() for run in together] == [run.ids.tolist() for runs in apart for run in runs]


@needs_kernel_tuner
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("strategy", ["simulated_annealing", "genetic_algorithm", "pso", "diff_evo"])
def test_a_strategy_visits_what_it_visits_in_kernel_tuners_own_simulation(
    strategy: str, prepared: Prepared, tmp_path: Path
) -> None:
    from kernel_tuner import tune_kernel

    record = read_record(read_suite(tmp_path / "suite.toml").entries[0].file)
    assert isinstance(record, RecordedSpace)
    cache = tmp_path / "cache.json"
    write_record(cache, record, format="kernel_tuner")
    names = record.space.names
    with seeded("0/a/0"):
        results, _ = tune_kernel(
            record.task.kernel,
            "",
            (),
            [],
            {name: list(values) for name, values in record.space.parameters.items()},
            lang="C",
            cache=str(cache),
            simulation_mode=True,
            quiet=True,
            strategy=strategy,
            strategy_options={"max_fevals": 60, "searchspace_construction_options": {"framework": "bruteforce"}},
        )
    theirs = list(dict.fromkeys(record.space.find({name: row[name] for name in names}) for row in results))
    ours = run_of(f"kernel_tuner:{strategy}", prepared, evaluations=60)
    assert ours.ids.tolist() == theirs
    assert len(theirs) > 20
    assert ours.repeats == len(results) - len(theirs)


@needs_kernel_tuner
def test_a_strategy_that_gives_up_early_is_shown_as_finished(prepared: Prepared) -> None:
    run = run_of("kernel_tuner:minimize", prepared, seconds=1e6)
    assert run.stopped == "finished"
    assert len(run.ids) < prepared.space.size // 2


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.filterwarnings("ignore")
def test_hyperparameters_worth_trying_are_options_of_the_method(kind: str) -> None:
    if not installed(kind):
        pytest.skip(f"{kind} is not installed")
    grids = foreign.bridge(kind).HYPERPARAMETERS
    for target in grids:
        values = hyperparameter_values(kind, target)
        assert all(len(each) > 1 for each in values.values())
        run = simulation(evaluations=2)
        try:
            failure = played(f"{kind}:{target}", run, **{name: each[0] for name, each in values.items()})
        except OptionError as error:  # a sampler that needs a package of its own
            failure = str(error).partition("needs what is not installed")[0]
        assert "option" not in failure
    assert hyperparameter_values(kind, "unknown") == {}
