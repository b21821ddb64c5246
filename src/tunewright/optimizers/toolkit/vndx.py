"""Parts of the published HybridVNDX that its rendering and the repaired one share."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from tunewright.optimizers.toolkit.draw import below
from tunewright.optimizers.toolkit.moves import Moves
from tunewright.space import SearchSpace

__all__ = ["Neighbourhoods", "nearest_costs", "pool"]

_KINDS = ("box", "step", "single")
_POOL, _AROUND = 8, 4
_UP, _DOWN, _BOUNDS = 1.1, 0.9, (0.05, 20.0)


class Neighbourhoods:
    """Which neighbourhood to look into: weights grow by a tenth with success and shrink by a tenth without."""

    def __init__(self, rng: Random) -> None:
        """Args: rng: random numbers."""
        self._rng = rng
        self._weights = dict.fromkeys(_KINDS, 1.0)
        self.chosen = _KINDS[0]

    def choose(self) -> str:
        """Draw a kind by its weight."""
        self.chosen = self._rng.choices(_KINDS, list(self._weights.values()))[0]
        return self.chosen

    def learn(self, *, better: bool) -> None:
        """Tell whether the kind drawn last led to something better."""
        weight = self._weights[self.chosen] * (_UP if better else _DOWN)
        self._weights[self.chosen] = min(max(weight, _BOUNDS[0]), _BOUNDS[1])


def pool(space: SearchSpace, moves: Moves, x: int, kind: str, elites: Sequence[int], rng: Random) -> list[int]:
    """Candidates: up to four neighbours, a uniform crossover of two elites if it is valid, the rest at random."""
    if kind == "box":  # too many to list in spaces of many parameters
        found = [i for i in (moves.box(x) for _ in range(_AROUND)) if i != x]
    else:
        around = space.neighbors(x, kind)
        found = [around[below(len(around), rng)] for _ in range(min(_AROUND, len(around)))]
    if len(elites) >= 2:
        mother, father = (space.code_row(i) for i in rng.sample(list(elites), 2))
        child = space.find_codes([a if rng.random() < 0.5 else b for a, b in zip(mother, father, strict=True)])
        if child is not None:
            found.append(child)
    found += [space.sample(rng) for _ in range(_POOL - len(found))]
    return list(dict.fromkeys(found))


def nearest_costs(space: SearchSpace, ids: Sequence[int], known: Sequence[int], costs: Sequence[float]) -> list[float]:
    """Mean cost of the five evaluations nearest to each id by the number of values that differ."""
    codes, history = space.codes_of(ids), space.codes_of(known)
    values = np.array(costs)
    found = []
    for row in codes:
        far = (history != row).sum(axis=1)
        near = np.argsort(far, kind="stable")[:5]
        with np.errstate(over="ignore"):
            found.append(float(values[near].mean()))
    return found
