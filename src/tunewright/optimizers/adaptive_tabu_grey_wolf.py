"""The published AdaptiveTabuGreyWolf (arXiv 2510.17899)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from math import exp, inf
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import unseen
from tunewright.optimizers.toolkit.moves import Moves
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["adaptive_tabu_grey_wolf"]

EXEMPT = frozenset({"scale", "shift", "negative"})
HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "pack": (6, 8, 16),
    "shake": (0.1, 0.2, 0.4),
    "remembered": (12, 24, 100),
    "patience": (40, 80, 160),
}

_JUMP, _COOLING, _RESTARTED, _LATE = 0.15, 5.0, 0.3, 0.5


def adaptive_tabu_grey_wolf(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    pack: int = 8,
    shake: float = 0.2,
    remembered: int = 24,
    patience: int = 80,
) -> Plan:
    """Each wolf's child takes its values from the three leaders or itself, is shaken, kept off a tabu list, annealed.

    Written anew from the paper's description. The temperature falls with the budget and is absolute, so proposals
    depend on the scale of the costs. What was evaluated gives way to an unseen neighbour.

    Args:
        space: where to search.
        budget: its share spent sets the temperature and the kind of moves.
        rng: random numbers.
        start: ids that belong to the first pack.
        pack: number of wolves.
        shake: probability of a move beside the leaders, growing while nothing improves.
        remembered: length of the tabu list.
        patience: generations without a new best before part of the pack is drawn anew.
    """
    known: dict[int, float] = {}
    fresh = unseen(space.size, rng, known)
    moves = Moves(space, rng)
    tabu: deque[int] = deque(maxlen=remembered)
    wolves = list(dict.fromkeys(start))
    while len(wolves) < pack and (i := next(fresh, -1)) >= 0:
        if i not in wolves:
            wolves.append(i)
    known.update(zip(wolves, (yield list(wolves)), strict=True))
    stagnant, reheated = 0, 0.0
    best = min(known.values(), default=inf)
    while True:
        wolves.sort(key=known.__getitem__)
        leaders = wolves[:3]
        for k in range(len(wolves)):
            own = wolves[k]
            child = _child(space, [*leaders, own], own, rng)
            if rng.random() < min(shake * (1 + stagnant / patience), 1.0):
                child = _shaken(moves, child, budget.spent, rng)
            if child in known or child in tabu:
                child = moves.unseen(child, known)
            if child < 0:
                child = next(fresh, -1)
            if child < 0:
                return
            [known[child]] = yield [child]
            tabu.append(child)
            heat = exp(-_COOLING * max(budget.spent - reheated, 0.0))
            worse = known[child] - known[own]
            if known[child] < inf and (worse <= 0 or rng.random() < exp(-worse / max(heat, 1e-300))):
                wolves[k] = child
        least = min(known.values())
        stagnant = 0 if least < best else stagnant + 1
        best = min(best, least)
        if stagnant >= patience:
            wolves.sort(key=known.__getitem__)
            for k in range(len(wolves) - max(1, round(_RESTARTED * len(wolves))), len(wolves)):
                i = next(fresh, -1)
                if i < 0:
                    return
                [known[i]] = yield [i]
                wolves[k] = i
            stagnant, reheated = 0, budget.spent


def _child(space: SearchSpace, parents: Sequence[int], own: int, rng: Random) -> int:
    """A value of each parameter from one of the parents; the wolf itself where that is not valid."""
    rows = [space.code_row(i) for i in parents]
    found = space.find_codes([rows[int(rng.random() * len(rows))][j] for j in range(len(rows[0]))])
    return own if found is None else found


def _shaken(moves: Moves, i: int, spent: float, rng: Random) -> int:
    """A jump of one value, or a small step of all: one parameter's early in the run, every parameter's late."""
    if rng.random() < _JUMP or spent < _LATE:
        return moves.single(i)
    return moves.box(i)
