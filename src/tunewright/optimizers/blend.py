"""Two models of one history in turns: a Gaussian process and a linear model that err differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.history import History
from tunewright.optimizers.toolkit.proposers import ProcessProposer, RidgeProposer
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["blend"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "initial": (5, 10, 20),
    "linear": (1, 2, 3),
    "local": (0.2, 0.4, 0.6),
    "remembered": (100, 200, 300),
}

_OTHERS = 32  # evaluations for each further proposal of one model
_OFFERED = 1000


def blend(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    initial: int = 10,
    batch: int = 1,
    linear: int = 2,
    local: float = 0.4,
    remembered: int = 200,
) -> Plan:
    """Let `gaussian_process` and `ridge` propose in turn; each learns from what the other has proposed.

    The linear model finds what holds everywhere and is not deceived by a cliff; the process follows what holds
    only here, and knows failures.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first.
        initial: space-filling evaluations before the first model, `start` included.
        batch: proposals at once, at least.
        linear: every how many turns the linear model proposes.
        local: share of its proposals among the neighbours of the incumbent.
        remembered: evaluations that the process is conditioned on, at most.
    """
    history = History(space, rng)
    process = ProcessProposer(space, rng, remembered, _OFFERED)
    ridge = RidgeProposer(space, rng, local)
    yield from history.begin(start, initial)
    turn = 0
    while True:
        turn += 1
        model = ridge if turn % linear == 0 else process
        chosen = model.propose(history, max(batch, len(history.ids) // _OTHERS, 1))
        if not chosen:
            return
        yield from history.evaluate(chosen)
