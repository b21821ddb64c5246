"""Other people's tuners on recorded spaces: the run that they play, and what a bridge to one has to offer.

A bridge is a module of this package named like the contestants' prefix. It proposes what the tuner proposes;
defects of a tuner are counted and shown, not repaired.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import random
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from tunewright.budget import Budget
from tunewright.errors import OptionError
from tunewright.measure import Measurement, Objective, Stopped
from tunewright.optimizers import hyperparameter_values as own_values
from tunewright.plan import STALL_REPEATS
from tunewright.space import SearchSpace

__all__ = [
    "FOREIGN",
    "Bridge",
    "Over",
    "Simulation",
    "bridge",
    "hyperparameter_values",
    "method",
    "play",
    "seeded",
    "shared",
    "version",
]


class _Package(NamedTuple):
    """Where a tuner comes from: the module it is imported as, its distribution, and our extra that installs it."""

    module: str
    distribution: str
    extra: str


FOREIGN: Mapping[str, _Package] = {
    "kernel_tuner": _Package("kernel_tuner", "kernel_tuner", "kernel-tuner"),
    "pyatf": _Package("pyatf", "pyatf", "pyatf"),
    "opentuner": _Package("opentuner", "opentuner", "opentuner"),
    "optuna": _Package("optuna", "optuna", "optuna"),
}
"""Prefixes of contestants, as in ``kernel_tuner:genetic_algorithm``."""

_OBJECTIVE = Objective(metric="cost")
_Measure = Callable[[Sequence[int]], list[Measurement]]


class Over(BaseException):
    """The run has ended; no ``except Exception`` of a tuner holds it up."""


class Simulation:
    """One run: answers proposals from a recording and keeps the clock, which stands still while a tuner thinks.

    Attributes:
        space: the configurations.
        budget: the limits.
        known: cost of each evaluated configuration, in the order of evaluation.
        seconds: on the tuning clock.
        repeats: proposals that were known already, or no valid configuration: free, and of no use.
        stopped: why the run is over; None while it goes on.
        charged: processor seconds put on the clock before each evaluation, empty without a charge.
    """

    def __init__(self, space: SearchSpace, measure: _Measure, budget: Budget, charge: float = 0.0) -> None:
        """Args: measure: a runner's; charge: seconds on the clock for each processor second of the tuner."""
        self.space = space
        self.budget = budget
        self.known: dict[int, float] = {}
        self.seconds = 0.0
        self.repeats = 0
        self.stopped: Stopped | None = None
        self.charged: list[float] = []
        self._measure = measure
        self._charge = charge
        self._in_a_row = 0
        self._since = time.process_time() if charge else 0.0

    @property
    def spent(self) -> float:
        """The share of the budget that is used up, 0 to 1."""
        count, seconds = self.budget.evaluations, self.budget.seconds
        share = max(len(self.known) / count if count else 0.0, self.seconds / seconds if seconds else 0.0)
        return min(share, 1.0)

    def evaluate(self, i: int | None) -> float:
        """The cost of a configuration, inf where it failed, or where None stands for an invalid one.

        Sets `stopped` when this was the last one, or an endless row of useless ones.
        """
        if self.stopped is not None:
            return self.known.get(-1 if i is None else i, inf)
        cost = inf if i is None else self.known.get(i)
        if i is None or cost is not None:
            self.repeats += 1
            self._in_a_row += 1
            if self._in_a_row >= STALL_REPEATS:
                self.stopped = Stopped.STALLED
            return inf if cost is None else cost
        self._in_a_row = 0
        if self._charge:
            extra = self._charge * (time.process_time() - self._since)
            self.charged.append(extra)
            self.seconds += extra
        measured = self._measure((i,))[0]
        self.seconds += measured.compile_s + measured.verify_s + measured.benchmark_s
        cost = self.known[i] = _OBJECTIVE.value(measured)
        if self.spent >= 1:
            self.stopped = Stopped.BUDGET
        elif len(self.known) >= self.space.size:
            self.stopped = Stopped.EXHAUSTED
        if self._charge:
            self._since = time.process_time()
        return cost

    def cost(self, i: int | None) -> float:
        """Like `evaluate`, for tuners that have no way of their own to be stopped.

        Raises:
            Over: when the run is over, in place of the last answer.
        """
        cost = self.evaluate(i)
        if self.stopped is not None:
            raise Over
        return cost


class Bridge(Protocol):
    """What a tuner's module offers."""

    HYPERPARAMETERS: Mapping[str, Mapping[str, Sequence[object]]]
    """For each method, the options of importance and values worth trying."""

    def names(self) -> Sequence[str]:
        """The methods that the installed version has."""
        ...

    def load(self, target: str) -> Any:
        """A method, and everything imported that it will need.

        Raises:
            OptionError: there is none of this name.
        """
        ...

    def ready(self, space: SearchSpace) -> Any:
        """What all runs on a space share."""
        ...

    def tune(self, method: Any, options: Mapping[str, Any], simulation: Simulation, shared: Any, seed: int) -> None:
        """Let a method propose until it ends by itself or the simulation stops it.

        The global generators of `random` and numpy are seeded already.

        Raises:
            OptionError: an option that it does not take.
            Over: passed on from the simulation.
        """
        ...


def bridge(kind: str) -> Bridge:
    """The bridge to a tuner.

    Raises:
        OptionError: it is not installed.
    """
    version(kind)
    return cast(Bridge, importlib.import_module(f"tunewright.bench.{kind}"))


def version(kind: str) -> str:
    """The installed version of a tuner, without running any of its code.

    Raises:
        OptionError: it is not installed.
    """
    package = FOREIGN[kind]
    if importlib.util.find_spec(package.module) is None:
        raise OptionError(
            f"contestants of {kind} need a package that is not installed: pip install 'tunewright[{package.extra}]'"
        )
    try:
        return importlib.metadata.version(package.distribution)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


@functools.lru_cache(maxsize=4)
def shared(kind: str, space: SearchSpace) -> Any:
    """What all runs of a tuner on a space share, made once for a process.

    Raises:
        OptionError: the tuner is not installed.
    """
    with _quiet():
        return bridge(kind).ready(space)


@functools.lru_cache(maxsize=4)
def method(kind: str, target: str) -> Any:
    """A tuner's method, loaded once for a process: what importing draws at random is no part of a run.

    Raises:
        OptionError: the tuner is not installed, has no such method, or lacks a package that the method needs.
    """
    with _quiet():
        try:
            return bridge(kind).load(target)
        except ImportError as error:
            raise OptionError(f"{kind}:{target} needs what is not installed: {error}") from error


def play(kind: str, target: str, options: Mapping[str, Any], simulation: Simulation, seed: str) -> str:
    """Let a tuner play a simulation to its end.

    Args:
        kind: of `FOREIGN`.
        target: its method.
        options: the method's hyper-parameters.
        simulation: the run; afterwards it tells what happened.
        seed: of all random numbers.

    Returns:
        What failed, empty if nothing did.

    Raises:
        OptionError: something is not installed, no such method, or an option that does not fit.
    """
    chosen, common = method(kind, target), shared(kind, simulation.space)
    with _quiet(), seeded(seed) as number:
        try:
            bridge(kind).tune(chosen, options, simulation, common, number)
        except Over:
            pass
        except OptionError:
            raise
        except ImportError as error:
            raise OptionError(f"{kind}:{target} needs what is not installed: {error}") from error
        except (Exception, SystemExit) as error:
            return f"{kind}:{target} raised {type(error).__name__}: {error}"
    return ""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without warnings and progress bars: that a tuner divides by zero is its own affair."""
    with warnings.catch_warnings(), Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def seeded(seed: str) -> Iterator[int]:
    """The global generators of `random` and numpy seeded, and those of numpy that nobody seeds as well.

    Yields a number made from the seed, below 2**32, for generators that take one. Everything is put back at the end.
    """
    number = int.from_bytes(sha256(seed.encode()).digest()[:4], "little")
    before, before_numpy, fresh = random.getstate(), np.random.get_state(), np.random.default_rng
    seeds = random.Random(number)

    def derived(given: Any = None) -> np.random.Generator:
        return fresh(seeds.getrandbits(32) if given is None else given)

    random.seed(number)
    np.random.seed(number)
    np.random.default_rng = derived  # type: ignore[assignment]  # for libraries that would ask the system for a seed
    try:
        yield number
    finally:
        np.random.default_rng = fresh
        np.random.set_state(before_numpy)
        random.setstate(before)


def hyperparameter_values(kind: str, target: str) -> dict[str, tuple[object, ...]]:
    """The options of a contestant with values worth trying; empty where none are known.

    Args:
        kind: ``tunewright``, or one of `FOREIGN`.
        target: as in `tunewright.bench.contestant.Contestant`.

    Raises:
        OptionError: the tuner is not installed, or an optimizer of ours that does not exist.

    >>> hyperparameter_values("tunewright", "local_search")["neighborhood"]
    ('single', 'step', 'box')
    """
    if kind not in FOREIGN:
        return own_values(target)
    return {name: tuple(values) for name, values in bridge(kind).HYPERPARAMETERS.get(target, {}).items()}
