"""One contestant's run on a prepared space: costs from memory, seconds from the recording."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tunewright.bench import foreign
from tunewright.bench.prepared import Prepared
from tunewright.bench.runs import Run
from tunewright.budget import Budget, Clock
from tunewright.measure import Measurement, Objective, Status, Stopped
from tunewright.optimizers import load
from tunewright.plan import Optimizer, Plan, drive
from tunewright.space import SearchSpace

__all__ = ["Problem", "make_run", "run_seed"]

_OBJECTIVE = Objective(metric="cost")


@dataclass(frozen=True)
class Problem:
    """A prepared space in the form that runs need.

    Attributes:
        prepared: where it comes from.
        measurements: the answer to each id.
    """

    prepared: Prepared
    measurements: tuple[Measurement, ...]

    @classmethod
    def load(cls, folder: str, name: str, *, published: bool = False) -> Problem:
        """Read a prepared space's folder; `published`: with the seconds that the published score counts."""
        prepared = Prepared(Path(folder), name)
        return cls(prepared, _answers(prepared.costs, prepared.published_seconds if published else prepared.seconds))

    @property
    def space(self) -> SearchSpace:
        """The configurations."""
        return self.prepared.space


def run_seed(seed: int, name: str, number: int) -> str:
    """What seeds the random numbers of a run; all contestants share it."""
    return f"{seed}/{name}/{number}"


def make_run(problem: Problem, request: Mapping[str, Any], number: int) -> Run:
    """Run a contestant once.

    Args:
        problem: the space.
        request: ``kind``, ``target`` and ``options`` of the contestant, ``conditions``.
        number: of the run.

    Raises:
        OptionError: a hyper-parameter that does not fit; a foreign tuner or method that is not there.
        OptimizerError: an optimizer's file that holds none.
    """
    conditions = request["conditions"]
    seed = run_seed(conditions["seed"], problem.prepared.name, number)
    measurements, deal = problem.measurements, None
    if conditions["shuffled"]:
        deal = np.random.default_rng(list(f"{seed}/deal".encode())).permutation(len(measurements))
        measurements = tuple(measurements[i] for i in deal)
    answer: _Recorded = _Recorded(measurements)
    if conditions["noise"]:
        answer = _Noisy(measurements, problem.prepared, deal, random.Random(f"{seed}/noise"))
    budget = Budget(conditions["evaluations"], conditions["seconds"])
    play = _ours if request["kind"] == "tunewright" else _foreign
    run = play(problem, request, answer, budget, seed)
    if not conditions["noise"]:
        run = replace(run, observed=None)
    if deal is not None:  # the recorded configurations whose costs were dealt out
        run = replace(run, ids=deal[run.ids].astype(np.int32))
    return run


def _ours(problem: Problem, request: Mapping[str, Any], answer: _Recorded, budget: Budget, seed: str) -> Run:
    """Drive an optimizer of the protocol."""
    optimizer = load(request["target"])
    charge = request["conditions"]["charge"]
    meter = _Meter() if charge else None
    if meter is not None:
        answer, optimizer = _Charging(answer, meter, charge), meter.around(optimizer)
    start = time.process_time()
    outcome = drive(
        optimizer, problem.space, answer, _OBJECTIVE, budget, random.Random(seed), options=request["options"]
    )
    spent = time.process_time() - start
    return Run(
        ids=np.array([trial.id for trial in outcome.trials], dtype=np.int32),
        observed=np.array([trial.cost for trial in outcome.trials]),
        repeats=outcome.repeats,
        stopped=outcome.stopped.value,
        cpu_s=spent,
        charged_s=None if meter is None else np.array(meter.charged[: len(outcome.trials)]),
        failure="" if outcome.failure is None else str(outcome.failure),
    )


def _foreign(problem: Problem, request: Mapping[str, Any], answer: _Recorded, budget: Budget, seed: str) -> Run:
    """Let another tuner play."""
    foreign.method(request["kind"], request["target"]), foreign.shared(request["kind"], problem.space)  # not timed
    charge = request["conditions"]["charge"]
    simulation = foreign.Simulation(problem.space, answer.measure, budget, charge)
    start = time.process_time()
    failure = foreign.play(request["kind"], request["target"], request["options"], simulation, seed)
    spent = time.process_time() - start
    return Run(
        ids=np.array(list(simulation.known), dtype=np.int32),
        observed=np.array(list(simulation.known.values())),
        repeats=simulation.repeats,
        stopped=(simulation.stopped or Stopped.FINISHED).value,
        cpu_s=spent,
        charged_s=np.array(simulation.charged) if charge else None,
        failure=failure,
    )


def _answers(costs: npt.NDArray[np.float64], seconds: npt.NDArray[np.float64]) -> tuple[Measurement, ...]:
    return tuple(
        Measurement(Status.OK, benchmark_s=took, metrics={"cost": cost})
        if cost < inf
        else Measurement(Status.CRASH, benchmark_s=took)
        for cost, took in zip(costs.tolist(), seconds.tolist(), strict=True)
    )


class _Recorded:
    """Answers with what is known."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._measurements = measurements

    def prepare(self, ids: Sequence[int]) -> None:
        """Nothing to prepare."""

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        """The recorded answer for each id."""
        return [self._measurements[i] for i in ids]


class _Noisy(_Recorded):
    """Answers with one of the recorded samples, drawn anew in each run."""

    def __init__(
        self,
        measurements: Sequence[Measurement],
        prepared: Prepared,
        deal: npt.NDArray[np.int64] | None,
        rng: random.Random,
    ) -> None:
        super().__init__(measurements)
        self._samples, self._ends = prepared.samples
        self._deal, self._rng = deal, rng

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        """The recorded answer, its cost replaced by a sample."""
        return [self._one(i) for i in ids]

    def _one(self, i: int) -> Measurement:
        known = self._measurements[i]
        if known.status is not Status.OK:
            return known
        row = i if self._deal is None else int(self._deal[i])
        start, end = int(self._ends[row - 1]) if row else 0, int(self._ends[row])
        sample = float(self._samples[start + int(self._rng.random() * (end - start))])
        return Measurement(Status.OK, benchmark_s=known.benchmark_s, metrics={"cost": sample})


class _Meter:
    """Processor seconds that an optimizer has used since the last evaluation."""

    def __init__(self) -> None:
        self.used_s = 0.0
        self.charged: list[float] = []

    def around(self, optimizer: Optimizer) -> Optimizer:
        """The same optimizer, metered."""

        def metered(space: SearchSpace, budget: Clock, rng: random.Random, **options: Any) -> Plan:
            plan = optimizer(space, budget, rng, **options)
            step: Callable[[], list[int]] = lambda: next(plan)  # noqa: E731 - rebound below
            while True:
                start = time.process_time()
                try:
                    ids = step()
                except StopIteration:
                    return
                finally:
                    self.used_s += time.process_time() - start
                costs = yield ids
                step = lambda costs=costs: plan.send(costs)  # type: ignore[misc]  # noqa: E731

        return metered


class _Charging(_Recorded):
    """Puts the optimizer's processor time on the clock, before the evaluation that it led to."""

    def __init__(self, inner: _Recorded, meter: _Meter, factor: float) -> None:
        super().__init__(())
        self._inner, self._meter, self._factor = inner, meter, factor

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        """The inner answer, later."""
        charged = []
        for measurement in self._inner.measure(ids):
            extra, self._meter.used_s = self._factor * self._meter.used_s, 0.0
            self._meter.charged.append(extra)
            charged.append(
                Measurement(
                    measurement.status, benchmark_s=measurement.benchmark_s + extra, metrics=measurement.metrics
                )
            )
        return charged
