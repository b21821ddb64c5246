"""Calling one configuration best: interleaved rounds, paired ratios, ties within the noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from tunewright.errors import OptionError
from tunewright.measure import Decision, Leader

__all__ = ["decide", "median_interval"]


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """A distribution-free interval for the median from order statistics.

    The narrowest symmetric pair of order statistics that covers the median with at least `confidence`. Fewer
    than six values cannot reach 95 %: the interval is then their whole range.

    Raises:
        OptionError: no values.

    >>> median_interval([5, 1, 4, 2, 3, 7, 6, 9, 8])
    (2, 8)
    """
    if not values:
        raise OptionError("an interval needs at least one value")
    ordered = sorted(values)
    n = len(ordered)
    below, k = 0.0, 0
    while k < n // 2:
        below += math.comb(n, k) / 2**n
        if 1 - 2 * below < confidence:
            break
        k += 1
    k = max(k - 1, 0)
    return ordered[k], ordered[n - 1 - k]


def decide(rounds: Mapping[int, Sequence[float]], default: int | None) -> Decision | None:
    """Choose the best of configurations that were measured in the same interleaved rounds.

    The best has the least median. Another one ties with it when the 95 % interval of the median of their
    paired ratios, round by round, contains 1. The speed-up over the default is the median of paired ratios
    too.

    Args:
        rounds: for each id the cost of every round, equally many each; ``inf`` in a round excludes the id.
        default: the id of the default configuration if it is among them.

    Returns:
        The decision; None if every id failed in some round.
    """
    leaders = {
        i: Leader(i, median(costs), *median_interval(costs), tuple(costs))
        for i, costs in rounds.items()
        if costs and all(map(math.isfinite, costs))
    }
    if not leaders:
        return None
    best = min(leaders.values(), key=lambda leader: leader.cost)
    ties = tuple(
        other
        for other in sorted(leaders.values(), key=lambda leader: leader.cost)
        if other is not best and median_interval(_ratios(other, best))[0] <= 1
    )
    plain = None if default is None else leaders.get(default)
    if plain is None or plain.cost * best.cost <= 0:
        return Decision(best, ties, plain)
    # costs of a maximised objective are negated: better is then the larger figure
    ratios = _ratios(plain, best) if best.cost > 0 else _ratios(_negated(best), _negated(plain))
    return Decision(best, ties, plain, median(ratios), *median_interval(ratios))


def _negated(leader: Leader) -> Leader:
    return leader._replace(rounds=tuple(-cost for cost in leader.rounds))


def _ratios(other: Leader, best: Leader) -> list[float]:
    """Cost of the other over cost of the best, round by round; differences where a cost is not positive."""
    pairs = list(zip(other.rounds, best.rounds, strict=True))
    if all(a > 0 and b > 0 for a, b in pairs):
        return [a / b for a, b in pairs]
    return [1 + a - b for a, b in pairs]
