"""What the samples of one measurement say about how far they can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles

from tunewright.measure import BIMODAL, NOISY

__all__ = ["is_bimodal", "noise_remarks"]

_WIDE = 0.2
"""Interquartile range, as a share of the median, from which samples count as noisy."""

_SHARED = 0.9
"""Share of the wall time that a single thread gets of its core, below which other work was in the way."""

_SIDE = 0.2
"""Least share of the samples in the smaller of two groups."""

_FEW = 8


def noise_remarks(samples_ms: Sequence[float], cpu_ms: float | None) -> tuple[str, ...]:
    """`NOISY` and `BIMODAL` where they apply.

    Args:
        samples_ms: wall time of each sample.
        cpu_ms: median processor time of a call on one thread; None for several threads.

    >>> noise_remarks([1.0, 1.01, 0.99, 1.0], 1.0)
    ()
    >>> noise_remarks([16.0, 19.5, 18.2], 0.08)
    ('noisy',)
    """
    remarks = []
    middle = median(samples_ms)
    shared = cpu_ms is not None and cpu_ms < _SHARED * middle
    if shared or (len(samples_ms) > 3 and _quartile_range(samples_ms) > _WIDE * middle):
        remarks.append(NOISY)
    if is_bimodal(samples_ms):
        remarks.append(BIMODAL)
    return tuple(remarks)


def is_bimodal(samples_ms: Sequence[float]) -> bool:
    """Do the samples fall into two groups, each narrow beside the gap between them?

    >>> is_bimodal([1.0, 1.01, 1.02, 1.0, 1.3, 1.31, 1.3, 1.32, 1.3])
    True
    >>> is_bimodal([1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.5])
    False
    """
    n = len(samples_ms)
    if n < _FEW:
        return False
    ordered = sorted(samples_ms)
    least = max(2, round(_SIDE * n))
    cut = max(range(least, n - least + 1), key=lambda k: ordered[k] - ordered[k - 1])
    gap = ordered[cut] - ordered[cut - 1]
    widest = max(_quartile_range(ordered[:cut]), _quartile_range(ordered[cut:]))
    return gap > 0.02 * ordered[n // 2] and gap > 3 * widest


def _quartile_range(samples_ms: Sequence[float]) -> float:
    low, _, high = quantiles(samples_ms, n=4, method="inclusive")
    return high - low
