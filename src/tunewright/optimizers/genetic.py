"""A genetic algorithm whose recombination and mutation never leave the valid configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import shuffled, unseen
from tunewright.optimizers.toolkit.moves import Moves
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["genetic"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "population": (10, 20, 40),
    "mutation": (0.1, 0.3, 0.5),
    "tournament": (2, 4, 6),
}


def genetic(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    population: int = 20,
    mutation: float = 0.3,
    tournament: int = 4,
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
    moves = Moves(space, rng)
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
            mother, father = _winner(alive, tournament, rng), _winner(alive, tournament, rng)
            child = _cross(space, mother, father, rng)
            if rng.random() < mutation:
                child = moves.single(child)
            if child in seen:
                child = moves.unseen(child, seen)
            if child < 0:
                child = next(fresh, -1)
            if child < 0:
                break
            seen.add(child)
            ids.append(child)


def _winner(alive: Sequence[tuple[float, int]], tournament: int, rng: Random) -> int:
    """The best of some members drawn at random: they are sorted, so one draw of the lowest rank will do."""
    return alive[int(len(alive) * (1 - (1 - rng.random()) ** (1 / tournament)))][1]


def _cross(space: SearchSpace, mother: int, father: int, rng: Random) -> int:
    """Walk from mother towards father over valid configurations, taking about half of what differs."""
    if mother == father:
        return mother
    child, goal = list(space.code_row(mother)), space.code_row(father)
    random = rng.random
    taken = [k for k, own in enumerate(child) if own != goal[k] and random() < 0.5]
    place = mother
    for k in shuffled(taken, rng):
        old, child[k] = child[k], goal[k]
        step = space.find_codes(child)
        if step is None:
            child[k] = old
        else:
            place = step
    return place
