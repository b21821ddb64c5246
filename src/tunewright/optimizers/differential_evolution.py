"""Differential evolution on value indices (Storn and Price, J. Global Optimization 11, 1997)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import below, unseen
from tunewright.optimizers.toolkit.moves import Moves
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["differential_evolution"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "population": (7, 10, 20, 40),
    "weight": (0.5, 0.7, 0.85, 1.0),
    "crossover": (0.5, 0.7, 0.9),
}


def differential_evolution(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    population: int = 10,
    weight: float = 0.85,
    crossover: float = 0.7,
) -> Plan:
    """Each member meets a trial made of itself, the best and two others; the better one stays.

    The mutant is DE/current-to-best/1: ``x + F (best - x) + F (b - c)``, the crossover binomial. Differences
    are taken between value indices, rounded and kept inside each parameter's list; where that is not valid
    the trial stops on the way there from its member. One that was seen before gives way to an unseen
    neighbour.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids that belong to the first population.
        population: number of members.
        weight: F, the factor of the difference.
        crossover: CR, the probability that a value comes from the mutant.
    """
    seen = set(start)
    fresh = unseen(space.size, rng, seen)
    moves = Moves(space, rng)
    members = list(dict.fromkeys(start))
    while len(members) < population and (i := next(fresh, -1)) >= 0:
        members.append(i)
    seen.update(members)
    costs = yield members
    while True:
        trials: list[int] = []
        best = space.code_row(min(zip(costs, members, strict=True))[1])
        for member in members:
            b, c = (space.code_row(i) for i in rng.choices(members, k=2))
            codes = list(space.code_row(member))
            forced = moves.free[below(len(moves.free), rng)] if moves.free else -1
            for k in moves.free:
                if k == forced or rng.random() < crossover:
                    x = codes[k]
                    mutant = round(x + weight * (best[k] - x + b[k] - c[k]))
                    codes[k] = min(max(mutant, 0), moves.lengths[k] - 1)
            trial = moves.toward(member, codes)
            if trial in seen:
                trial = moves.unseen(trial, seen)
            if trial < 0:
                trial = next(fresh, -1)
            if trial < 0:
                break
            seen.add(trial)
            trials.append(trial)
        if not trials:
            return
        answers = yield trials
        for k, (trial, cost) in enumerate(zip(trials, answers, strict=True)):
            if cost <= costs[k]:
                members[k], costs[k] = trial, cost
