"""Particle swarm optimization with constriction (Clerc and Kennedy, IEEE Trans. Evolutionary Computation 6, 2002)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import unseen
from tunewright.optimizers.toolkit.moves import Moves
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["particle_swarm"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "particles": (10, 20, 30),
    "inertia": (0.4, 0.73, 0.9),
    "cognitive": (0.5, 1.0, 1.5),
    "social": (1.0, 1.5, 2.0),
}

_FASTEST = 0.5
"""Speed limit, as a share of a parameter's list."""


def particle_swarm(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    particles: int = 10,
    inertia: float = 0.73,
    cognitive: float = 1.5,
    social: float = 1.5,
) -> Plan:
    """Particles fly over the value indices, drawn to their own best place and to the best of all.

    A particle's place is rounded for measuring. Where that is not valid it comes down on the way from its last
    valid place, where it is known on an unseen neighbour; the particle then goes on from there.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids that belong to the first places.
        particles: size of the swarm.
        inertia: share of the velocity that is kept.
        cognitive: pull towards a particle's own best place.
        social: pull towards the best place of all.
    """
    moves = Moves(space, rng)
    seen = set(start)
    fresh = unseen(space.size, rng, seen)
    ids = list(dict.fromkeys(start))
    while len(ids) < particles and (i := next(fresh, -1)) >= 0:
        ids.append(i)
    seen.update(ids)
    costs = yield list(ids)
    fastest = [_FASTEST * length for length in moves.lengths]
    places = [[float(code) for code in space.code_row(i)] for i in ids]
    speeds = [[(rng.random() - 0.5) * fast for fast in fastest] for _ in ids]
    least, best = list(costs), list(ids)
    while True:
        leader = space.code_row(min(zip(least, best, strict=True))[1])
        proposed: list[int] = []
        for n, (place, speed) in enumerate(zip(places, speeds, strict=True)):
            own = space.code_row(best[n])
            for k in moves.free:
                x = place[k]
                pull = cognitive * rng.random() * (own[k] - x) + social * rng.random() * (leader[k] - x)
                speed[k] = min(max(inertia * speed[k] + pull, -fastest[k]), fastest[k])
                place[k] = min(max(x + speed[k], 0.0), moves.lengths[k] - 1.0)
            goal = [round(x) for x in place]
            i = moves.toward(ids[n], goal)
            if i in seen:
                i = moves.unseen(i, seen)
            if i < 0:
                i = next(fresh, -1)
            if i < 0:
                break
            for k, (code, wanted) in enumerate(zip(space.code_row(i), goal, strict=True)):
                if code != wanted:
                    place[k] = float(code)
            seen.add(i)
            ids[n] = i
            proposed.append(i)
        if not proposed:
            return
        for n, cost in enumerate((yield list(proposed))):
            if cost <= least[n]:
                least[n], best[n] = cost, proposed[n]
