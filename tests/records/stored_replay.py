"""Run as a program: a search over a made-up recorded space through the store."""

import random
import sys
import time
from collections.abc import Sequence

from tunewright.budget import Budget
from tunewright.measure import Measurement, Objective, Status, Task, Trial
from tunewright.optimizers import load
from tunewright.plan import drive
from tunewright.records import Store
from tunewright.runners.stored import StoredRunner
from tunewright.space import SearchSpace

SPACE = SearchSpace({"x": list(range(20)), "y": list(range(20))}, ["x + y < 30"])
TASK = Task("made up", "nowhere", {"N": 7}, "none", "0", {"method": 1})
EVALUATIONS = 60


class Landscape:
    """Costs by formula; every measurement takes a moment, so that a kill can hit it."""

    def __init__(self, moment_s: float) -> None:
        self.moment_s = moment_s
        self.measured = 0

    def prepare(self, ids: Sequence[int]) -> None:
        pass

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        return [self.one(i) for i in ids]

    def one(self, i: int) -> Measurement:
        print(i, flush=True)  # noqa: T201 - tells the test that a measurement began
        until = time.perf_counter() + self.moment_s
        while time.perf_counter() < until:
            pass
        self.measured += 1
        c = SPACE.config(i)
        cost = 1.0 + (int(c["x"]) - 7) ** 2 + (int(c["y"]) - 4) ** 2 / 3
        if i % 11 == 0:
            return Measurement(Status.CRASH, benchmark_s=0.1, detail="made up")
        return Measurement(Status.OK, (cost, cost + 0.25), compile_s=0.1, benchmark_s=0.3, metrics={"load": 0.5})

    def learn(self, measured: Measurement) -> None:
        pass

    def close(self) -> None:
        pass


def search(store: Store, moment_s: float) -> tuple[list[int], int]:
    """The ids evaluated, and how many measurements were new."""
    landscape = Landscape(moment_s)
    key = store.task(TASK)
    runner = StoredRunner(landscape, store, key, SPACE)
    run = store.start_run(key, SPACE, Objective(), "genetic", {"seed": 3}, "0")
    seen: list[Trial] = []

    def notice(trial: Trial) -> None:
        store.add_trial(run, key, len(seen), SPACE.config(trial.id), trial)
        seen.append(trial)

    budget, rng = Budget(EVALUATIONS), random.Random(3)
    outcome = drive(load("genetic"), SPACE, runner, Objective(), budget, rng, on_trial=notice)
    store.end_run(run, outcome.stopped, None, SPACE, [])
    return [trial.id for trial in outcome.trials], landscape.measured


if __name__ == "__main__":
    with Store(sys.argv[1]) as opened:
        search(opened, float(sys.argv[2]))
