"""Dual annealing: generalized simulated annealing (Tsallis and Stariolo, Physica A 233, 1996) with local search.

The combination, with a local search at every new best, follows Xiang et al., Physics Letters A 233, 1997.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, sqrt
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.descend import evaluated, first_improvement, sampled
from tunewright.optimizers.toolkit.draw import unseen
from tunewright.optimizers.toolkit.moves import Moves
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["dual_annealing"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "visit": (2.3, 2.62, 2.8),
    "accept": (5.0, 20.0, 100.0),
    "temperature": (0.1, 1.0, 10.0),
    "restart": (10, 20, 50),
    "samples": (1, 5, 10, 20),
    "neighborhood": ("single", "step", "box"),
}


_FAR = 1e9


def dual_annealing(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    visit: float = 2.62,
    accept: float = 5.0,
    temperature: float = 1.0,
    restart: int = 20,
    samples: int = 20,
    neighborhood: str = "step",
) -> Plan:
    """Anneal with jumps of heavy-tailed length over the value indices; descend from every new best.

    At each temperature come as many visits that displace all parameters as there are parameters, then as many
    that displace one each. Displacements follow the Tsallis distribution, which is Student's t with
    ``(3 - q) / (q - 1)`` degrees of freedom, and leave the list at one end to enter at the other. A worse place
    is accepted with the generalized Metropolis probability, its cost difference counted in the typical one.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first; they count among the first samples.
        visit: q of the visiting distribution, between 1 and 3; larger means longer jumps.
        accept: minus q of the acceptance; larger means fewer worse places accepted.
        temperature: of the visiting distribution at first; 1 gives jumps as long as a parameter's list.
        restart: temperatures until the annealing begins anew, from the best of new samples.
        samples: configurations drawn for each beginning.
        neighborhood: `SearchSpace.neighbors` kind of the descents.
    """
    moves = Moves(space, rng)
    known = dict(zip(start, (yield list(start)), strict=True))
    fresh = unseen(space.size, rng, known)
    groups = [moves.free] * len(moves.free) + [[k] for k in moves.free]
    typical = 0.0
    x = yield from sampled(samples, fresh, known, list(known))
    while x >= 0:
        x = yield from first_improvement(space, x, known, rng, neighborhood)
        least = known[x]
        for step in range(1, restart + 1):
            hot = temperature * (2 ** (visit - 1) - 1) / ((1 + step) ** (visit - 1) - 1)
            scale = hot ** (1 / (3 - visit)) / sqrt(3 - visit)
            for displaced in groups:
                codes = list(space.code_row(x))
                for k in displaced:
                    shift = scale * _student((3 - visit) / (visit - 1), rng) * moves.lengths[k]
                    codes[k] = round(codes[k] + min(max(shift, -_FAR), _FAR)) % moves.lengths[k]
                y = moves.toward(x, codes)
                if y in known:
                    y = moves.unseen(y, known)
                if y < 0:
                    continue
                fy = yield from evaluated(y, known)
                rise = fy - known[x] if fy < inf else inf
                if 0 < rise < inf:
                    typical += 0.1 * (rise - typical)
                if fy < least:
                    x = yield from first_improvement(space, y, known, rng, neighborhood)
                    least = known[x]
                elif rise <= 0 or known[x] == inf or rng.random() < _accepted(rise / (typical * hot + 1e-300), accept):
                    x = y
        x = yield from sampled(samples, fresh, known)


def _student(freedom: float, rng: Random) -> float:
    """A random number of Student's t distribution."""
    return rng.gauss(0.0, 1.0) / sqrt(rng.gammavariate(freedom / 2, 2 / freedom) + 1e-300)


def _accepted(rise: float, accept: float) -> float:
    """The generalized Metropolis probability, with q = -accept (Tsallis and Stariolo, equation 5)."""
    probability: float = max(1 - (1 + accept) * rise, 0.0) ** (1 / (1 + accept))
    return probability
