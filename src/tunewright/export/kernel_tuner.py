"""What an exported optimizer runs on inside Kernel Tuner; its text becomes part of every exported file.

Only `tunewright.export.strategy` reads this file, as text: definitions that it uses from other modules are copied
beside it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from math import inf
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from kernel_tuner.strategies.wrapper import OptAlg

from tunewright.space.group import make_group
from tunewright.space.spread import spread
from tunewright.space.view import distances, features

_STALLED = 10_000
"""A run ends after this many repeats, or empty batches, in a row."""


class SearchSpace:
    """Kernel Tuner's list of valid configurations as tunewright's optimizers see a search space.

    An id is a configuration's place in the lexicographic order of value indices.
    """

    def __init__(self, searchspace: Any) -> None:
        """Args: searchspace: Kernel Tuner's, with ``tune_params`` and ``list``."""
        self.parameters: Mapping[str, tuple[Any, ...]] = {
            name: tuple(values) for name, values in searchspace.tune_params.items()
        }
        self.names = tuple(self.parameters)
        self._lookup = [{value: k for k, value in enumerate(values)} for values in self.parameters.values()]
        columns = [
            np.array([lookup[value] for value in column], dtype=np.int64)
            for lookup, column in zip(self._lookup, zip(*searchspace.list, strict=True), strict=True)
        ]
        self._group = make_group(self.names, [len(each) for each in self._lookup], columns)
        self._around: dict[tuple[int, str], tuple[int, ...]] = {}
        self.size = self._group.size

    def __len__(self) -> int:
        return self.size

    def values(self, i: int) -> tuple[Any, ...]:
        """A configuration's values in the order of the parameters."""
        return tuple(each[k] for each, k in zip(self.parameters.values(), self.code_row(i), strict=True))

    def config(self, i: int) -> dict[str, Any]:
        """A configuration's values by name."""
        return dict(zip(self.names, self.values(i), strict=True))

    def find(self, config: Mapping[str, Any]) -> int | None:
        """The id of a configuration, None if it is not valid."""
        codes = [lookup.get(config[name]) for name, lookup in zip(self.names, self._lookup, strict=True)]
        return None if None in codes else self.find_codes(codes)  # type: ignore[arg-type]  # no None is left

    def nearest(self, config: Mapping[str, Any]) -> int:
        """The lowest id with the least sum of index differences, each relative to its list."""
        far = np.zeros(self.size)
        for (name, values), column in zip(self.parameters.items(), self.codes.T, strict=True):
            far += distances(values, config[name])[column]
        return int(np.round(far, 9).argmin())

    def code_row(self, i: int) -> tuple[int, ...]:
        """A configuration's value indices."""
        return tuple(self._group.code_row(i))

    def find_codes(self, codes: Sequence[int]) -> int | None:
        """The id with these value indices, None if there is none."""
        i = self._group.find(codes)
        return i if i >= 0 else None

    @cached_property
    def codes(self) -> npt.NDArray[np.int32]:
        """The value indices of all configurations."""
        return self._group.codes(slice(None)).astype(np.int32)

    def codes_of(self, ids: Sequence[int]) -> npt.NDArray[np.int32]:
        """The value indices of some configurations."""
        return self._group.codes(ids).astype(np.int32)

    @cached_property
    def numeric(self) -> npt.NDArray[np.float64]:
        """Features of all configurations, in 0 to 1."""
        tables, _ = features(self.parameters)
        columns = [tables[name][codes] for name, codes in zip(self.names, self.codes.T, strict=True) if name in tables]
        return np.concatenate([np.zeros((self.size, 0)), *columns], axis=1)

    @property
    def numeric_names(self) -> tuple[str, ...]:
        """What the columns of `numeric` are."""
        return features(self.parameters)[1]

    def sample(self, rng: Random) -> int:
        """A random id, each alike."""
        return int(rng.random() * self.size)

    def neighbors(self, i: int, kind: str = "single") -> tuple[int, ...]:
        """The ids around one, ascending: "single", one parameter differs; "step", by one value; "box", all by one."""
        found = self._around.get((i, kind))
        if found is None:
            listed = {"single": self._group.single, "step": self._group.step, "box": self._group.box}[kind](i)
            found = self._around[i, kind] = tuple(j for j in listed if j != i)
        return found

    def spread(self, n: int, rng: Random | None = None) -> list[int]:
        """Distinct ids that cover the space."""
        return spread(self, n, rng or Random(0))  # type: ignore[arg-type]  # it asks for no more than is here


class Clock:
    """Tells the optimizer the share of the budget that is spent."""

    def __init__(self, func: Any) -> None:
        """Args: func: Kernel Tuner's cost function."""
        self._func = func

    @property
    def spent(self) -> float:
        """0 to 1."""
        return float(self._func.budget_spent_fraction)


class ExportedOptimizer(OptAlg):  # type: ignore[misc]  # Kernel Tuner has no types
    """Drives an optimizer of tunewright: a generator that yields lists of ids and receives the list of their costs."""

    def __init__(self, optimizer: Callable[..., Any], seed: int | None, options: Mapping[str, Any]) -> None:
        """Args: seed: of all random numbers; None: drawn from Python's global generator, run by run."""
        super().__init__()
        self.costfunc_kwargs = {"scaling": False, "snap": False}
        self.constraint_aware = False
        self._optimizer = optimizer
        self._seed = seed
        self._options = options

    def __call__(self, func: Any, searchspace: Any) -> tuple[tuple[Any, ...], float]:
        """Search until Kernel Tuner raises StopCriterionReached, all is known, or nothing new is proposed."""
        space = SearchSpace(searchspace)
        seed = random.getrandbits(64) if self._seed is None else self._seed
        known: dict[int, float] = {}
        plan = self._optimizer(space, Clock(func), Random(seed), start=(), **self._options)
        try:
            self._search(plan, space, func, known)
        finally:
            plan.close()
        best = min(known, key=known.__getitem__, default=0)
        return space.values(best), known.get(best, inf)

    def _search(
        self, plan: Generator[list[int], list[float], None], space: SearchSpace, func: Any, known: dict[int, float]
    ) -> None:
        costs: list[float] | None = None
        useless = 0
        while len(known) < space.size and useless < _STALLED:
            try:
                ids = plan.send(costs)  # type: ignore[arg-type]  # None starts a generator
            except StopIteration:
                return
            useless += len(ids) or 1
            for i in ids:
                if i not in known:
                    known[i] = _cost(func(list(space.values(i))))
                    useless = 0
            costs = [known[i] for i in ids]


def _cost(cost: Any) -> float:
    """A cost as tunewright's optimizers expect it: infinite where the configuration failed."""
    if isinstance(cost, list | tuple):
        raise TypeError("optimizers of tunewright minimize one objective; Kernel Tuner was given several")
    number = float(cost)
    return number if number < sys.float_info.max else inf
