"""Exported optimizers need nothing of ours and propose in Kernel Tuner what they propose here."""

import ast
import importlib.util
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from types import SimpleNamespace

import pytest

from tunewright.bench.foreign import Simulation, play, seeded
from tunewright.budget import Budget
from tunewright.cli import main
from tunewright.errors import OptionError
from tunewright.export import export_strategy
from tunewright.export.strategy import class_name
from tunewright.measure import Measurement, Objective, Status, Task
from tunewright.optimizers import load, names
from tunewright.plan import drive
from tunewright.records import RecordedSpace, write_record
from tunewright.space import SearchSpace

EVALUATIONS = 70
SHOWN = ("random", "local_search", "annealing", "genetic", "ridge")
installed = importlib.util.find_spec("kernel_tuner") is not None
needs_kernel_tuner = pytest.mark.skipif(not installed, reason="Kernel Tuner is not installed")


def space() -> SearchSpace:
    """Numbers, texts and switches; ids in lexicographic order, as exported optimizers have them."""
    parameters = {
        "x": [1, 2, 4, 8, 16, 32],
        "one": [3],
        "order": ["ij", "ji", "tiled"],
        "y": [1, 2, 3, 4, 6, 8],
        "on": [0, 1],
    }
    constrained = SearchSpace(parameters, ["x * y <= 64", "on == 1 or y > 1"])
    return SearchSpace.from_configurations(parameters, constrained.rows())


SPACE = space()


def measurement(i: int) -> Measurement:
    c = SPACE.config(i)
    if i % 11 == 5:
        return Measurement(Status.CRASH, benchmark_s=1.0)
    cost = 1 + abs(int(c["x"]) - 8) + (int(c["y"]) - 4) ** 2 + 5 * (c["order"] == "ij") + 0.01 * i
    return Measurement(Status.OK, (cost,), benchmark_s=1.0, metrics={"cost": cost})


class Table:
    """Answers from `measurement`."""

    def prepare(self, ids: Sequence[int]) -> None:
        """Nothing."""

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        return [measurement(i) for i in ids]


def ours(name: str, seed: int, **options: object) -> list[int]:
    budget = Budget(EVALUATIONS)
    outcome = drive(load(name), SPACE, Table(), Objective(metric="cost"), budget, random.Random(seed), options=options)
    return [trial.id for trial in outcome.trials]


def theirs(file: Path, function: str, seed: int, **options: object) -> list[int]:
    """Through Kernel Tuner's interface, by way of our own bridge: the real one, or a stand-in."""
    simulation = Simulation(SPACE, Table().measure, Budget(EVALUATIONS))
    failure = play("kernel_tuner", f"{file}:{class_name(function)}", {"seed": seed, **options}, simulation, "any")
    assert failure == ""
    return list(simulation.known)


def exported(name: str, folder: Path, **options: object) -> Path:
    file = folder / f"exported_{Path(name.partition(':')[0]).stem}.py"
    file.write_text(export_strategy(name, options))
    return file


@pytest.mark.parametrize("name", names())
def test_an_exported_optimizer_proposes_what_it_proposes_here(
    name: str, stub: Callable[[str], None], tmp_path: Path
) -> None:
    stub("kernel_tuner")
    file = exported(name, tmp_path)
    for seed in (0, 1):
        assert theirs(file, name, seed) == ours(name, seed)


@needs_kernel_tuner
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SHOWN)
def test_in_kernel_tuners_simulation_it_proposes_the_same(name: str, tmp_path: Path) -> None:
    from kernel_tuner import tune_kernel
    from kernel_tuner.strategies.wrapper import OptAlgWrapper

    cache = tmp_path / "cache.json"
    record = RecordedSpace(Task("bowl", "device"), SPACE, tuple(map(measurement, range(SPACE.size))))
    write_record(cache, record, format="kernel_tuner")
    valid = set(SPACE.rows())

    def valid_only(config: dict[str, object]) -> bool:
        return tuple(config[name] for name in SPACE.names) in valid

    spec = importlib.util.spec_from_file_location("exported", exported(name, tmp_path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    results, _ = tune_kernel(
        "bowl",
        "",
        (),
        [],
        {name: list(values) for name, values in SPACE.parameters.items()},
        restrictions=valid_only,
        lang="C",
        cache=str(cache),
        simulation_mode=True,
        quiet=True,
        strategy=OptAlgWrapper(getattr(module, class_name(name))(seed=3)),
        strategy_options={"max_fevals": EVALUATIONS},
    )
    assert [SPACE.find({name: row[name] for name in SPACE.names}) for row in results] == ours(name, 3)


@pytest.mark.parametrize("name", SHOWN)
def test_an_exported_file_needs_nothing_of_ours(name: str, tmp_path: Path) -> None:
    file = exported(name, tmp_path)
    tree = ast.parse(file.read_text())
    modules = {
        each
        for node in ast.walk(tree)
        for each in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
        + ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
    }
    assert {each.partition(".")[0] for each in modules} <= {*sys.stdlib_module_names, "numpy", "kernel_tuner"}
    code = f"import sys; sys.modules['tunewright'] = None; import {file.stem} as m; m.{class_name(name)}(seed=1)"
    stubs = Path(__file__).parents[1] / "stubs"
    environment = {"PYTHONPATH": f"{tmp_path}:{stubs}", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_options_and_seed_are_written_down_and_can_be_given(stub: Callable[[str], None], tmp_path: Path) -> None:
    stub("kernel_tuner")
    file = tmp_path / "mine.py"
    file.write_text(export_strategy("genetic", {"population": 6}, seed=5))
    run = Simulation(SPACE, Table().measure, Budget(EVALUATIONS))
    play("kernel_tuner", f"{file}:TunewrightGenetic", {}, run, "any")
    assert list(run.known) == ours("genetic", 5, population=6)
    assert theirs(file, "genetic", 2, population=9) == ours("genetic", 2, population=9)


def test_without_a_seed_the_global_generator_decides(stub: Callable[[str], None], tmp_path: Path) -> None:
    stub("kernel_tuner")
    file = exported("random", tmp_path)

    def run(seed: str) -> list[int]:
        simulation = Simulation(SPACE, Table().measure, Budget(EVALUATIONS))
        play("kernel_tuner", f"{file}:TunewrightRandom", {}, simulation, seed)
        return list(simulation.known)

    assert run("a") == run("a") != run("b")


MINE = '''
"""Somebody's optimizer; its names are those of the adapter, too."""

from math import inf as never

from tunewright import SearchSpace
from tunewright.optimizers.toolkit.draw import unseen as fresh

_STALLED = 3


# How many at once.
def _cost(space: SearchSpace, known):
    """Whatever."""
    return min(known.values(), default=never)


class Memory(dict):
    """What is known."""


def mine(space, budget, rng, *, start=(), many=_STALLED):
    """Random, then around the best."""
    known = Memory()
    while budget.spent < 0.5:
        ids = [i for _, i in zip(range(many), fresh(space.size, rng, known))]
        known.update(zip(ids, (yield ids)))
    while True:
        x = min(known, key=known.__getitem__)
        assert _cost(space, known) == known[x]
        around = [i for kind in ("box", "step", "single") for i in space.neighbors(x, kind) if i not in known]
        ids = (around or [i for i in range(space.size) if i not in known])[:many]
        known.update(zip(ids, (yield ids)))
'''


def test_somebodys_file_is_exported_with_what_it_imports(stub: Callable[[str], None], tmp_path: Path) -> None:
    stub("kernel_tuner")
    source = tmp_path / "mine.py"
    source.write_text(MINE)
    file = exported(f"{source}:mine", tmp_path)
    assert "# How many at once." in file.read_text()
    assert theirs(file, "mine", 4, many=5) == ours(f"{source}:mine", 4, many=5)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("import tunewright.tune\nX = tunewright.tune", "as a whole"),
        ("from math import inf as np\nX = np", "'np' is imported from"),
    ],
)
def test_what_cannot_be_copied_is_refused(line: str, words: str, tmp_path: Path) -> None:
    source = tmp_path / "mine.py"
    source.write_text(f"{line}\ndef mine(space, budget, rng, *, start=()):\n    yield [0, X]\n")
    with pytest.raises(OptionError, match=words):
        export_strategy(str(source))


def test_the_space_in_an_exported_file_is_like_ours(stub: Callable[[str], None], tmp_path: Path) -> None:
    stub("kernel_tuner")
    file = exported("random", tmp_path)
    spec = importlib.util.spec_from_file_location("exported_space", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = list(SPACE.rows())
    random.Random(2).shuffle(rows)

    tune_params = {name: list(values) for name, values in SPACE.parameters.items()}
    other = module.SearchSpace(SimpleNamespace(tune_params=tune_params, list=rows))
    assert len(other) == other.size == SPACE.size
    assert (other.codes == SPACE.codes).all()
    assert (other.numeric == SPACE.numeric).all()
    assert other.numeric_names == SPACE.numeric_names
    assert other.spread(9, random.Random(1)) == SPACE.spread(9, random.Random(1))
    assert other.sample(random.Random(1)) == SPACE.sample(random.Random(1))
    for i in range(0, SPACE.size, 7):
        config = SPACE.config(i)
        assert other.config(i) == config
        assert other.find(config) == i
        assert other.nearest({**config, "x": 5}) == SPACE.nearest({**config, "x": 5})
        for kind in ("single", "step", "box"):
            assert other.neighbors(i, kind) == SPACE.neighbors(i, kind)
    assert other.find({**SPACE.config(0), "x": 99}) is None
    assert (module._cost(sys.float_info.max), module._cost(2)) == (inf, 2.0)
    with pytest.raises(TypeError, match="one objective"):
        module._cost([1.0, 2.0])


def test_the_command_writes_a_file_and_never_over_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out.py")
    command = ["export", "annealing", "--option", "patience=30", "--seed", "7", "-o", out]
    assert main(command) == 0
    text = Path(out).read_text()
    assert "patience=30" in text
    assert "seed=7" in text
    assert main(command) == 2
    assert "--force" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert main(["export", "annealing", "--option", "patient=1", "-o", out, "--force"]) == 2
    assert "no option 'patient'" in capsys.readouterr().err
    with seeded("x"):
        assert main(["export", "nonsense", "-o", out, "--force"]) == 2
