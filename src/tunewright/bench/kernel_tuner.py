"""Kernel Tuner's strategies, and classes written for its `OptAlg` interface, on recorded spaces.

Everything of Kernel Tuner that decides what is proposed runs as it is: the strategy, the cost function with its
scaling, snapping and repair, and the search space. Ours are the runner, which answers from the recording, and the
budget, whose time is the recorded seconds alone: Kernel Tuner's own simulation adds the wall time that it has used.
"""

from __future__ import annotations

import copy
import importlib.util
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from tunewright.bench.foreign import Over, Simulation
from tunewright.errors import OptionError
from tunewright.measure import Stopped
from tunewright.space import SearchSpace

__all__ = ["HYPERPARAMETERS", "load", "names", "ready", "tune"]

_CROSSOVERS = ("single_point", "two_point", "uniform", "disruptive_uniform")
_LOCAL = ("Nelder-Mead", "Powell", "CG", "BFGS", "L-BFGS-B", "TNC", "COBYLA", "SLSQP")
_HILL: Mapping[str, Sequence[object]] = {"neighbor": ("Hamming", "adjacent"), "restart": (True, False)}

HYPERPARAMETERS: Mapping[str, Mapping[str, Sequence[object]]] = {
    "genetic_algorithm": {
        "method": _CROSSOVERS,
        "popsize": (10, 20, 30),
        "maxiter": (50, 100, 150),
        "mutation_chance": (5, 10, 20),
    },
    "simulated_annealing": {
        "T": (0.1, 0.5, 1.0),
        "T_min": (0.0001, 0.001, 0.01),
        "alpha": (0.9925, 0.995, 0.9975),
        "maxiter": (1, 2, 3),
    },
    "dual_annealing": {"method": _LOCAL},
    "minimize": {"method": _LOCAL},
    "basinhopping": {"method": _LOCAL, "T": (0.1, 0.5, 1.0)},
    "diff_evo": {
        "popsize": (4, 8, 16),
        "F": (0.3, 0.5, 0.7, 0.9),
        "CR": (0.4, 0.6, 0.8),
        "method": ("best1bin", "best2bin", "rand1bin", "currenttobest1bin"),
    },
    "firefly_algorithm": {
        "popsize": (10, 20, 30),
        "B0": (0.5, 1.0, 1.5),
        "gamma": (0.25, 0.5, 1.0),
        "alpha": (0.1, 0.2, 0.3),
    },
    "pso": {"popsize": (10, 20, 30, 50), "w": (0.25, 0.5, 0.75), "c1": (1.5, 2.5, 3.5), "c2": (0.5, 1.0, 1.5)},
    "mls": {**_HILL},
    "greedy_mls": {**_HILL},
    "ordered_greedy_mls": {**_HILL},
    "greedy_ils": {**_HILL, "no_improvement": (20, 50, 100), "random_walk": (0.1, 0.3, 0.5)},
    "hybrid_vndx": {
        "k": (3, 5, 9),
        "cand_pool": (4, 8, 16),
        "restart_iter": (50, 100, 200),
        "tabu_size": (100, 300),
        "temp0": (0.1, 1.0),
        "cooling": (0.99, 0.995, 0.999),
    },
    "adaptive_tabu_greywolf": {
        "pack_size": (4, 8, 16),
        "tabu_factor": (1, 3, 9),
        "shake_rate": (0.1, 0.2, 0.4),
        "jump_rate": (0.05, 0.15, 0.3),
        "stagn_limit": (40, 80, 160),
    },
    "bayes_opt": {
        "method": ("ei", "multi", "multi-advanced", "multi-fast", "multi-ultrafast"),
        "covariancekernel": ("matern32", "matern52", "rbf"),
        "popsize": (10, 20, 40),
    },
}


class _Text(str):
    """A text with the same hash in every process: some strategies draw from sets of values."""

    __slots__ = ()

    def __hash__(self) -> int:
        return crc32(self.encode())


class _Method(NamedTuple):
    """A strategy's module, or a class derived from `OptAlg`, and its name."""

    name: str
    strategy: Any


class _Shared(NamedTuple):
    """What all runs on a space share.

    Attributes:
        parameters: name to values.
        ids: id of each configuration.
        searchspace: Kernel Tuner's, from which each run takes a copy.
    """

    parameters: Mapping[str, list[Any]]
    ids: Mapping[tuple[Any, ...], int]
    searchspace: Any


def names() -> tuple[str, ...]:
    """The strategies of the installed version."""
    from kernel_tuner.interface import strategy_map

    return tuple(sorted(strategy_map))


def ready(space: SearchSpace) -> _Shared:
    """Kernel Tuner's search space, made from the list of valid configurations."""
    from kernel_tuner.searchspace import Searchspace

    parameters = {
        name: [_Text(value) if isinstance(value, str) else value for value in values]
        for name, values in space.parameters.items()
    }
    tables = list(parameters.values())
    order = np.lexsort(space.codes.T[::-1]).tolist()  # as Kernel Tuner's own enumeration has it
    codes = space.codes.tolist()
    ids = {tuple(table[code] for table, code in zip(tables, codes[i], strict=True)): i for i in order}
    cache = {str(i): dict(zip(parameters, row, strict=True)) for row, i in ids.items()}
    searchspace = Searchspace(None, None, None, from_cache={"tune_params": parameters, "cache": cache})
    searchspace.max_threads = _Device().max_threads
    searchspace.get_neighbors_no_cache(next(iter(ids)), neighbor_method="adjacent")  # makes the tables for neighbours
    return _Shared(parameters, ids, searchspace)


def load(target: str) -> _Method:
    """A strategy's module, or a class derived from `OptAlg` from ``file.py:Class``."""
    with suppress(ImportError):
        import scipy.stats  # noqa: F401 - strategies import it in the midst of a run

    path, suffix, name = target.rpartition(".py")
    if suffix:
        return _Method(target, _class(Path(path + suffix), name.lstrip(":")))
    from kernel_tuner.interface import strategy_map

    if target not in strategy_map:
        raise OptionError(f"Kernel Tuner has no strategy {target!r}; it has {', '.join(names())}; or give a file.py")
    strategy = strategy_map[target]
    _ = strategy.tune  # imports it
    return _Method(target, strategy)


def tune(method: _Method, options: Mapping[str, Any], simulation: Simulation, shared: _Shared, seed: int) -> None:
    """Run a strategy or class once."""
    limits = {"max_fevals": simulation.budget.evaluations, "time_limit": simulation.budget.seconds}
    reserved = sorted(set(options) & set(limits))
    if reserved:
        raise OptionError(f"{reserved[0]} is set by the budget; leave it out")
    limits = {name: limit for name, limit in limits.items() if limit is not None}
    strategy, strategy_options = method.strategy, {**options, **limits}
    if inspect.isclass(strategy):
        from kernel_tuner.strategies.wrapper import OptAlgWrapper

        try:
            strategy, strategy_options = OptAlgWrapper(strategy(**options)), limits
        except TypeError as error:
            raise OptionError(f"{method.name} cannot be called with these options: {error}") from error
    else:
        known = getattr(strategy, "_options", options)
        unknown = [name for name in options if name not in known]
        if unknown:
            raise OptionError(f"{method.name} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    tuning_options = _tuning_options(method.name, shared, simulation, strategy_options, limits)
    with _invalid_counted(simulation):
        strategy.tune(_copy(shared.searchspace), _Runner(shared, simulation), tuning_options)


def _tuning_options(
    name: str,
    shared: _Shared,
    simulation: Simulation,
    strategy_options: Mapping[str, Any],
    limits: Mapping[str, Any],
) -> Any:
    """What `tune_kernel` would hand to a strategy."""
    from kernel_tuner.interface import Options

    return Options(
        {
            "tune_params": shared.parameters,
            "restrictions": [],
            "restrictions_unmodified": [],
            "objective": ["time"],
            "objective_higher_is_better": [False],
            "metrics": None,
            "strategy": name,
            "strategy_options": Options(strategy_options),
            "cache": {},
            "cachefile": None,
            "simulation_mode": False,  # True would only have the Pareto front computed, from the cache
            "verbose": False,
            "seed": None,
            "budget": _Budget(simulation),
            **limits,
        }
    )


def _class(file: Path, name: str) -> Callable[..., Any]:
    """A class derived from `OptAlg` in a file: the one of that name, or the only one.

    Raises:
        OptionError: the file does not exist, cannot be imported, or holds no such class.
    """
    from kernel_tuner.strategies.wrapper import OptAlg

    module = _module(file)
    found = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, OptAlg) and value is not OptAlg
    }
    if name in found or (not name and len(found) == 1):
        chosen: Callable[..., Any] = found[name] if name else next(iter(found.values()))
        return chosen
    raise OptionError(
        f"{file} holds no class {name or 'derived from OptAlg, or several'}; found {', '.join(found) or 'none'}"
    )


def _module(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tunewright_foreign_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise OptionError(f"optimizer file {str(file)!r} does not exist")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise OptionError(f"optimizer file {file} fails on import: {type(error).__name__}: {error}") from error
    return module


def _copy(searchspace: Any) -> Any:
    """The same search space with empty memories of neighbours, whose contents decide what random moves draw."""
    own = copy.copy(searchspace)
    for name, memory in vars(searchspace).items():
        if name.endswith("__neighbor_cache"):
            setattr(own, name, {method: {} for method in memory})
        elif name.endswith("__neighbor_partial_cache"):
            setattr(own, name, {method: defaultdict(list) for method in memory})
    own.neighbors_index = {}
    return own


@contextmanager
def _invalid_counted(simulation: Simulation) -> Iterator[None]:
    """Have the cost function's refusals counted: it answers them without asking the runner."""
    from kernel_tuner.strategies.common import CostFunc

    plain = CostFunc._normalize_and_validate_config

    def counted(self: Any, x: Any, check_restrictions: bool = True) -> tuple[Any, bool]:
        config, legal = plain(self, x, check_restrictions=check_restrictions)
        if not legal:
            simulation.evaluate(None)
            if simulation.stopped is Stopped.STALLED:
                raise Over
        return config, legal

    CostFunc._normalize_and_validate_config = counted
    try:
        yield
    finally:
        CostFunc._normalize_and_validate_config = plain


class _Budget:
    """Kernel Tuner's budget with the simulation's clock."""

    def __init__(self, simulation: Simulation) -> None:
        from kernel_tuner.util import StopCriterionReached

        self._simulation = simulation
        self._stop = StopCriterionReached
        seconds = simulation.budget.seconds
        self.max_fevals = min(simulation.budget.evaluations or simulation.space.size, simulation.space.size)
        self.time_limit = None if seconds is None else timedelta(seconds=seconds)

    @property
    def num_fevals(self) -> int:
        return len(self._simulation.known)

    def is_done(self) -> bool:
        return self._simulation.stopped is not None

    def raise_exception_if_done(self) -> None:
        if self._simulation.stopped is Stopped.STALLED:
            raise Over
        if self.is_done():
            raise self._stop("budget spent")

    def get_fraction_consumed(self) -> float:
        return max(self._simulation.spent, min(1.0, self.num_fevals / self.max_fevals))

    def get_time_spent(self) -> timedelta:
        return timedelta(seconds=self._simulation.seconds)

    def get_time_remaining(self) -> timedelta:
        if self.time_limit is None:
            return timedelta.max
        return max(self.time_limit - self.get_time_spent(), timedelta(0))

    def get_evaluations_spent(self) -> int:
        return self.num_fevals

    def get_evaluations_remaining(self) -> int:
        return max(self.max_fevals - self.num_fevals, 0)


class _Device(NamedTuple):
    """The device of Kernel Tuner's own simulation."""

    max_threads: int = 1_000_000_000
    name: str = "Simulation"


class _Runner:
    """Answers configurations the way Kernel Tuner's simulation does."""

    def __init__(self, shared: _Shared, simulation: Simulation) -> None:
        from kernel_tuner.util import InvalidConfig, RuntimeFailedConfig

        self.dev = _Device()
        self.units: dict[str, str] = {}
        self._shared = shared
        self._simulation = simulation
        self._invalid, self._failed = InvalidConfig(), RuntimeFailedConfig()

    def add_strategy_time(self, seconds: float) -> None:
        """The strategy's wall time; not on the clock."""

    def available_parallelism(self) -> int:
        return 1

    def get_device_info(self) -> _Device:
        return self.dev

    def get_environment(self, _: object) -> dict[str, object]:
        return {"device_name": self.dev.name}

    def shutdown(self) -> None:
        """Nothing to end."""

    def run(self, parameter_space: Sequence[Sequence[Any]], _: object) -> list[dict[str, Any] | None]:
        """A result for each configuration, None for those after the end of the budget."""
        return [self._one(tuple(config)) for config in parameter_space]

    def _one(self, config: tuple[Any, ...]) -> dict[str, Any] | None:
        simulation = self._simulation
        if simulation.stopped is not None:
            return None
        i = self._shared.ids.get(config)
        cost = simulation.evaluate(i)
        if simulation.stopped is Stopped.STALLED:
            raise Over
        result: dict[str, Any] = dict(zip(self._shared.parameters, config, strict=True))
        if cost < inf:
            result["time"] = cost
        else:
            result["__error__"] = self._invalid if i is None else self._failed
        return result
