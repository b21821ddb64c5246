"""A genetic algorithm whose recombination and mutation never leave the valid configurations."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import below, shuffled, unseen
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["genetic"]


def genetic(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    population: int = 20,
    mutation: float = 0.3,
    tournament: int = 2,
) -> Plan:
    """Survivors are the best of parents and children; a child seen before gives way to a new one.

    A child begins as one parent and takes over values of the other, in random order, as long as each step is
    a valid configuration; then, with some probability, it moves to a random neighbour.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids that belong to the first population.
        population: configurations that survive a generation, and children bred in each.
        mutation: probability that a child moves to a neighbour.
        tournament: contestants for each parent; the best becomes one.
    """
    seen = set(start)
    fresh = unseen(space.size, rng, seen)
    ids = list(dict.fromkeys(start))
    while len(ids) < population and (i := next(fresh, -1)) >= 0:
        ids.append(i)
    seen.update(ids)
    alive: list[tuple[float, int]] = []
    while ids:
        costs = yield ids
        alive = sorted([*alive, *zip(costs, ids, strict=True)])[:population]
        ids = []
        while len(ids) < population:
            mother, father = (min(rng.choices(alive, k=tournament))[1] for _ in range(2))
            child = _cross(space, mother, father, rng)
            if rng.random() < mutation:
                around = space.neighbors(child)
                child = around[below(len(around), rng)] if around else child
            if child in seen:
                child = next((i for i in shuffled(space.neighbors(child), rng) if i not in seen), -1)
            if child < 0:
                child = next(fresh, -1)
            if child < 0:
                break
            seen.add(child)
            ids.append(child)


def _cross(space: SearchSpace, mother: int, father: int, rng: Random) -> int:
    """Walk from mother towards father over valid configurations, taking about half of what differs."""
    child, goal = space.config(mother), space.config(father)
    differing = [name for name in child if child[name] != goal[name]]
    rng.shuffle(differing)
    place = mother
    for name in differing:
        if rng.random() < 0.5:
            step = space.find({**child, name: goal[name]})
            if step is not None:
                place, child[name] = step, goal[name]
    return place
