"""Differential evolution on value indices (Storn and Price, J. Global Optimization 11, 1997)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import shuffled, unseen
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["differential_evolution"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "population": (10, 20, 40),
    "weight": (0.4, 0.7, 1.0),
    "crossover": (0.4, 0.7, 0.9),
}


def differential_evolution(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    population: int = 20,
    weight: float = 0.7,
    crossover: float = 0.7,
) -> Plan:
    """Each member meets a trial made of itself, the best and two others; the better one stays.

    The mutant is DE/current-to-best/1: ``x + F (best - x) + F (b - c)``, the crossover binomial. Differences
    are taken between value indices, rounded, kept inside each parameter's list, and moved to the nearest
    valid configuration; a trial that was seen before gives way to an unseen neighbour of it.

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
    members = list(dict.fromkeys(start))
    while len(members) < population and (i := next(fresh, -1)) >= 0:
        members.append(i)
    seen.update(members)
    costs = yield members
    lists = list(space.parameters.items())
    index = {name: {value: k for k, value in enumerate(values)} for name, values in lists}
    while True:
        trials: list[int] = []
        best = space.config(min(zip(costs, members, strict=True))[1])
        for member in members:
            b, c = (space.config(i) for i in rng.choices(members, k=2))
            old = space.config(member)
            forced = rng.choice(lists)[0]
            mutant = {}
            for name, values in lists:
                if name == forced or rng.random() < crossover:
                    at = index[name]
                    x = at[old[name]]
                    k = round(x + weight * (at[best[name]] - x + at[b[name]] - at[c[name]]))
                    mutant[name] = values[min(max(k, 0), len(values) - 1)]
                else:
                    mutant[name] = old[name]
            trial = space.nearest(mutant)
            if trial in seen:
                trial = next((i for i in shuffled(space.neighbors(trial), rng) if i not in seen), -1)
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
