"""Optuna's samplers on recorded spaces, by ask and tell.

A parameter of numbers is an integer, its value's index; one that holds texts is categorical. Optuna knows no
constraints in advance: what is no valid configuration, or failed, is told as pruned, which samplers learn from.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

from tunewright.bench.foreign import Simulation
from tunewright.errors import OptionError
from tunewright.space import SearchSpace

__all__ = ["HYPERPARAMETERS", "load", "names", "ready", "tune"]

HYPERPARAMETERS: Mapping[str, Mapping[str, Sequence[object]]] = {
    "tpe": {
        "n_startup_trials": (5, 10, 20, 40),
        "n_ei_candidates": (12, 24, 48, 96),
        "multivariate": (False, True),
        "constant_liar": (False, True),
    },
    "nsgaii": {"population_size": (10, 20, 50), "crossover_prob": (0.5, 0.7, 0.9)},
    "cmaes": {"sigma0": (None, 0.1, 0.3)},
    "gp": {"n_startup_trials": (5, 10, 20)},
}
_SUFFIX = "Sampler"
_NOT_ALONE = {"Base", "BaseGA", "PartialFixed", "Grid"}  # abstract, or in need of another sampler or of a grid


def names() -> tuple[str, ...]:
    """The samplers of the installed version, in lower case and without their ending."""
    return tuple(sorted(_samplers()))


def load(target: str) -> Callable[..., Any]:
    """A sampler's class, or what makes a sampler."""
    samplers = _samplers()
    if target not in samplers:
        raise OptionError(f"Optuna has no sampler {target!r}; it has {', '.join(sorted(samplers))}")
    return samplers[target]


def ready(space: SearchSpace) -> Mapping[str, Any]:
    """A distribution for each parameter that has more than one value."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    return {
        name: CategoricalDistribution(tuple(range(len(values))))
        if any(isinstance(value, str) for value in values)
        else IntDistribution(0, len(values) - 1)
        for name, values in space.parameters.items()
        if len(values) > 1
    }


def tune(
    method: Callable[..., Any],
    options: Mapping[str, Any],
    simulation: Simulation,
    shared: Mapping[str, Any],
    seed: int,
) -> None:
    """Ask and tell without end; the simulation stops it."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seeds = {"seed": seed} if "seed" in inspect.signature(method).parameters else {}
    try:
        study = optuna.create_study(sampler=method(**{**seeds, **options}))
    except (TypeError, ValueError) as error:
        raise OptionError(f"the sampler cannot be made with these options: {error}") from error
    space = simulation.space
    while True:
        trial = study.ask(dict(shared))
        cost = simulation.cost(space.find_codes([trial.params.get(name, 0) for name in space.names]))
        if cost < inf:
            study.tell(trial, cost)
        else:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)


def _samplers() -> dict[str, Callable[..., Any]]:
    import optuna.samplers

    found = [name for name in optuna.samplers.__all__ if name.endswith(_SUFFIX)]
    return {
        name.removesuffix(_SUFFIX).lower(): getattr(optuna.samplers, name)
        for name in found
        if name.removesuffix(_SUFFIX) not in _NOT_ALONE
    }
