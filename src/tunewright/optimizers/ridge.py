"""Bayesian ridge regression on interactions, searched by Thompson sampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.history import History
from tunewright.optimizers.toolkit.proposers import RidgeProposer
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["ridge"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {"initial": (5, 10, 20), "local": (0.2, 0.4, 0.6)}


def ridge(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    initial: int = 10,
    batch: int = 1,
    local: float = 0.4,
) -> Plan:
    """Fit a linear model to the ranks of the costs, draw one of its posterior, propose its minimum; repeat.

    Ranks become normal scores, so that no scale, shift or outlier of the costs matters; failures rank last.
    Part of the proposals is taken among the neighbours of the best configuration so far. Thompson sampling:
    Russo et al., A Tutorial on Thompson Sampling, 2018.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first.
        initial: space-filling evaluations before the first model, `start` included.
        batch: proposals at once, each from a draw of its own.
        local: share of proposals among the neighbours of the incumbent.
    """
    history = History(space, rng)
    model = RidgeProposer(space, rng, local)
    yield from history.begin(start, initial)
    while chosen := model.propose(history, batch):
        yield from history.evaluate(chosen)
