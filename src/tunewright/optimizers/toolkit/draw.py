"""Drawing without replacement, lazily: cheap in time and memory however large the space."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from random import Random

__all__ = ["below", "permutation", "shuffled", "unseen"]

_EXACT = 2**48  # below this a random float is fine enough to pick from


def below(n: int, rng: Random) -> int:
    """A whole number from 0 to n - 1, uniform; one call of ``rng.random`` where that is exact enough."""
    return int(rng.random() * n) if n < _EXACT else rng.randrange(n)


def permutation(n: int, rng: Random) -> Iterator[int]:
    """0 to n - 1 in random order; time and memory grow with what is drawn, not with n.

    >>> sorted(permutation(4, Random(7)))
    [0, 1, 2, 3]
    """
    moved: dict[int, int] = {}
    pop, random = moved.pop, rng.random
    for k in range(n):
        j = k + (int(random() * (n - k)) if n < _EXACT else rng.randrange(n - k))
        here = pop(k, k)
        if j == k:
            yield here
        else:
            there = moved.get(j, j)
            moved[j] = here
            yield there


def shuffled(items: Sequence[int], rng: Random) -> Iterator[int]:
    """The items in random order, drawn one by one, so that a caller who stops early pays for what it took."""
    rest = list(items)
    random = rng.random
    for last in range(len(rest) - 1, -1, -1):
        j = int(random() * (last + 1))
        rest[j], rest[last] = rest[last], rest[j]
        yield rest[last]


def unseen(n: int, rng: Random, seen: Collection[int]) -> Iterator[int]:
    """0 to n - 1 in random order, without those that are in `seen` at the moment of drawing."""
    return (i for i in permutation(n, rng) if i not in seen)
