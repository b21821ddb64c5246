"""Gaussian process with a discrete kernel; expected improvement times the probability of success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.history import History
from tunewright.optimizers.toolkit.proposers import ProcessProposer
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["gaussian_process"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "initial": (5, 10, 20),
    "remembered": (100, 200, 300),
    "offered": (500, 1000, 2000),
}

_OTHERS = 32  # evaluations for each further proposal of one model


def gaussian_process(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    initial: int = 10,
    batch: int = 1,
    remembered: int = 200,
    offered: int = 1000,
) -> Plan:
    """Fit a process to normal scores of the costs' ranks, propose where improvement is expected; learn from failures.

    Jones, Schonlau and Welch, J. Global Optimization 13, 1998; failures as in Gelbart et al., UAI 2014. The model keeps
    the best half of what it remembers and a random sample of the rest. Late in a run one model proposes several
    configurations, so that its cost for each stays small.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first.
        initial: space-filling evaluations before the first model, `start` included.
        batch: proposals at once, at least.
        remembered: evaluations that the model is conditioned on, at most.
        offered: configurations to choose from, beside the neighbours of the three best.
    """
    history = History(space, rng)
    model = ProcessProposer(space, rng, remembered, offered)
    yield from history.begin(start, initial)
    while chosen := model.propose(history, max(batch, len(history.ids) // _OTHERS, 1)):
        yield from history.evaluate(chosen)
