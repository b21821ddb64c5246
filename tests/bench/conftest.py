"""A small suite of made-up recordings, and a cache of its own for every test."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tunewright.measure import Measurement, Objective, Status, Task
from tunewright.records import RecordedSpace, write_record
from tunewright.space import SearchSpace


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNEWRIGHT_CACHE", str(tmp_path_factory.mktemp("cache")))


def recorded(name: str, *, seed: int = 0, equal: bool = False, goal: str = "min") -> RecordedSpace:
    """216 configurations, a valley with noise, a tenth of them failing, each taking another time."""
    rng = random.Random(f"{name}/{seed}")
    space = SearchSpace({"x": [1, 2, 4, 8, 16, 32], "y": [1, 2, 3, 4, 5, 6], "order": ["ij", "ji", "k", "l", "m", "n"]})
    rows = []
    for i in range(space.size):
        c = space.config(i)
        cost = 1 + (int(c["x"]).bit_length() - 3) ** 2 + (int(c["y"]) - 4) ** 2 + rng.random()
        took = 1.0 if equal else 0.2 + 3 * rng.random()
        if rng.random() < 0.1:
            rows.append(Measurement(Status.CRASH, benchmark_s=took))
            continue
        value = cost if goal == "min" else 100 / cost
        samples = tuple(value * (1 + 0.1 * rng.random()) for _ in range(5))
        metric = {"gflops": value} if goal == "max" else {}
        rows.append(Measurement(Status.OK, samples, compile_s=took / 2, benchmark_s=took / 2, metrics=metric))
    objective = Objective() if goal == "min" else Objective(metric="gflops", goal="max")
    return RecordedSpace(Task(name, "device"), space, tuple(rows), objective)


@pytest.fixture
def suite_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes recordings and a suite that names them: name, family and role of each."""

    def make(*spaces: tuple[str, str, str]) -> Path:
        lines = ['name = "made-up"', 'version = "3"']
        for name, family, role in spaces or (("a", "f", "train"), ("b", "f", "train"), ("c", "g", "selection")):
            write_record(tmp_path / f"{name}.npz", recorded(name))
            lines += [
                "[[space]]",
                f'name = "{name}"',
                f'file = "{name}.npz"',
                f'family = "{family}"',
                f'role = "{role}"',
            ]
        path = tmp_path / "suite.toml"
        path.write_text("\n".join(lines) + "\n")
        return path

    return make
