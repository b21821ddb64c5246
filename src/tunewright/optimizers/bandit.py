"""Several techniques in one search; a bandit gives the turns (Ansel et al., OpenTuner, PACT 2014)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import inf, log2, sqrt
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.annealing import annealing
from tunewright.optimizers.differential_evolution import differential_evolution
from tunewright.optimizers.genetic import genetic
from tunewright.optimizers.local_search import local_search
from tunewright.optimizers.toolkit.draw import unseen
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["bandit"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {"window": (50, 100, 200, 500), "exploration": (0.02, 0.05, 0.1, 0.2)}

_REPEATS = 200  # proposals in a row that were known; then the technique's turn is over


def bandit(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    window: int = 200,
    exploration: float = 0.05,
) -> Plan:
    """Genetic, differential evolution, annealing and local search propose in turns given by their credit.

    A technique's credit is the area under the curve of its new bests within a window of turns, later ones weighing
    more, and a bonus for those seldom used. All share the memory of what was evaluated: a technique that proposes
    something known is told its cost at once.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first; every technique is told of them.
        window: turns that credit looks back on.
        exploration: factor of the bonus.
    """
    known: dict[int, float] = {}
    fresh = unseen(space.size, rng, known)
    techniques = [
        _Technique(each(space, budget, Random(rng.getrandbits(64)), start=start))
        for each in (genetic, differential_evolution, annealing, local_search)
    ]
    past: deque[tuple[_Technique, bool]] = deque(maxlen=window)
    if start:
        known.update(zip(start, (yield list(start)), strict=True))
    while True:
        alive = [each for each in techniques if not each.ended]
        chosen = max(alive, key=lambda each: credit(each, past, exploration)) if alive else None
        new = [] if chosen is None else chosen.proposal(known)
        if not new:
            i = next(fresh, -1)
            if i < 0:
                return
            new = [i]
        best = min(known.values(), default=inf)
        known.update(zip(new, (yield list(new)), strict=True))
        if chosen is not None:
            past.append((chosen, min(known[i] for i in new) < best))


class _Technique:
    """An optimizer that is told what is known before anything is evaluated."""

    def __init__(self, plan: Plan) -> None:
        self.ended = False
        self._plan = plan
        self._asked: list[int] | None = None

    def proposal(self, known: Mapping[int, float]) -> list[int]:
        """What it wants evaluated that is not known; nothing if it ends, or repeats itself too often."""
        for _ in range(_REPEATS):
            try:
                answer = None if self._asked is None else [known[i] for i in self._asked]
                self._asked = self._plan.send(answer)  # type: ignore[arg-type]  # None starts a generator
            except StopIteration:
                self.ended = True
                return []
            if new := [i for i in dict.fromkeys(self._asked) if i not in known]:
                return new
        return []


def credit(technique: object, past: Iterable[tuple[object, bool]], exploration: float) -> float:
    """Area under the curve of a technique's new bests, in [0, 1], and the bonus for being seldom used."""
    turns = list(past)
    bests = [best for each, best in turns if each is technique]
    if not bests:
        return inf
    area = sum(k for k, best in enumerate(bests, 1) if best) * 2 / (len(bests) * (len(bests) + 1))
    return area + exploration * sqrt(2 * log2(len(turns)) / len(bests))
