"""pyATF's search techniques on recorded spaces.

pyATF searches a unit cube whose points stand for valid configurations alone. It builds that view from constraints,
each on a parameter and those before it; ours allow exactly the beginnings of valid configurations.
"""

from __future__ import annotations

import inspect
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from tunewright.bench.foreign import Simulation
from tunewright.errors import OptionError
from tunewright.space import SearchSpace

__all__ = ["HYPERPARAMETERS", "load", "names", "ready", "tune"]

HYPERPARAMETERS: Mapping[str, Mapping[str, Sequence[object]]] = {
    "default": {"c": (0.01, 0.05, 0.2), "window_size": (100, 500, 1000)},
    "auc_bandit": {"c": (0.01, 0.05, 0.2), "window_size": (100, 500, 1000)},
}
_ENDLESS = 1 << 62


def names() -> tuple[str, ...]:
    """The search techniques of the installed version."""
    return ("default", *sorted(_techniques()))


def load(target: str) -> Callable[..., Any]:
    """A technique's class; ``default`` is what pyATF takes when none is named."""
    techniques = _techniques()
    chosen = techniques.get("auc_bandit" if target == "default" else target)
    if chosen is None:
        raise OptionError(f"pyATF has no technique {target!r}; it has {', '.join(names())}")
    return chosen


def ready(space: SearchSpace) -> dict[bool, Any]:
    """PyATF's search spaces, with and without numbered configurations, made when first needed."""
    return {}


def tune(
    method: Callable[..., Any],
    options: Mapping[str, Any],
    simulation: Simulation,
    shared: dict[bool, Any],
    seed: int,
) -> None:
    """Run a technique until the simulation stops it."""
    from pyatf import Tuner
    from pyatf.abort_conditions import Evaluations
    from pyatf.search_techniques.search_technique_1d import SearchTechnique1D
    from pyatf.tuning_data import CostFunctionError

    try:
        technique = method(**options)
    except TypeError as error:
        raise OptionError(f"the technique cannot be made with these options: {error}") from error
    space = simulation.space
    numbered = isinstance(technique, SearchTechnique1D)
    if numbered not in shared:
        shared[numbered] = _search_space(space, numbered)

    def cost_function(configuration: Mapping[str, int]) -> float:
        cost = simulation.cost(space.find_codes([configuration[_name(k)] for k in range(len(space.names))]))
        if cost == inf:
            raise CostFunctionError("failed")
        return cost

    tuner = Tuner().search_space(shared[numbered]).search_technique(technique).verbosity(0)
    tuner.tune(cost_function, Evaluations(_ENDLESS))


def _search_space(space: SearchSpace, numbered: bool) -> Any:
    """PyATF's view of the valid configurations; its values are ours' indices."""
    from pyatf import TP, Set
    from pyatf.search_space import SearchSpace as Theirs

    codes = space.codes
    parameters = []
    before = 1
    for k, values in enumerate(space.parameters.values()):
        beginnings = np.unique(codes[:, : k + 1], axis=0)
        free = len(beginnings) == before * len(values)
        constraint = None if free else _among({tuple(row) for row in beginnings.tolist()}, k)
        parameters.append(TP(_name(k), Set(*range(len(values))), constraint))
        before = len(beginnings)
    return Theirs(*parameters, enable_1d_access=numbered, verbosity=0)


def _among(beginnings: set[tuple[int, ...]], last: int) -> Callable[..., bool]:
    """Whether the values of the parameters up to `last` begin a valid configuration."""
    names = [_name(k) for k in range(last + 1)]

    def constraint(**values: int) -> bool:
        return tuple(values[name] for name in names) in beginnings

    kind = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    constraint.__signature__ = signature  # type: ignore[attr-defined]  # pyATF reads the names that it may give
    return constraint


def _name(k: int) -> str:
    return f"p{k}"


def _techniques() -> dict[str, Callable[..., Any]]:
    handler = signal.getsignal(signal.SIGINT)
    import pyatf.search_techniques

    signal.signal(signal.SIGINT, handler)  # pyATF has set its own
    return {
        re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=C)(?=B)", "_", name).lower(): value
        for name, value in vars(pyatf.search_techniques).items()
        if inspect.isclass(value) and value.__module__.startswith("pyatf.search_techniques.")
    }
