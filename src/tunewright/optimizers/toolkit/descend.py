"""Descents to a local optimum, as parts of a plan: ``x = yield from first_improvement(...)``."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from random import Random
from typing import TypeAlias

from tunewright.optimizers.toolkit.draw import shuffled
from tunewright.space import SearchSpace

__all__ = ["Descent", "best_improvement", "evaluated", "first_improvement", "sampled"]

Descent: TypeAlias = Generator[list[int], list[float], int]
"""Yields ids, receives costs, returns the id where it ended."""


def evaluated(i: int, known: dict[int, float]) -> Generator[list[int], list[float], float]:
    """The cost of i, from `known` or measured and kept there."""
    cost = known.get(i)
    if cost is None:
        [cost] = yield [i]
        known[i] = cost
    return cost


def sampled(count: int, fresh: Iterator[int], known: dict[int, float], first: Sequence[int] = ()) -> Descent:
    """The best of `first`, which is known, filled up to `count` with new configurations; -1 if there are none."""
    pool = list(first)
    while len(pool) < count and (i := next(fresh, -1)) >= 0:
        [known[i]] = yield [i]
        pool.append(i)
    return min(pool, key=known.__getitem__, default=-1)


def first_improvement(space: SearchSpace, x: int, known: dict[int, float], rng: Random, kind: str) -> Descent:
    """From x, which is known, to the first better neighbour in random order, and so on until none is better."""
    better = True
    while better:
        fx, better = known[x], False
        for y in shuffled(space.neighbors(x, kind), rng):
            fy = known.get(y)
            if fy is None:
                [fy] = yield [y]
                known[y] = fy
            if fy < fx:
                x, better = y, True
                break
    return x


def best_improvement(space: SearchSpace, x: int, known: dict[int, float], rng: Random, kind: str) -> Descent:
    """From x, which is known, to the best neighbour, and so on until none is better."""
    while True:
        around = space.neighbors(x, kind)
        fresh = [y for y in shuffled(around, rng) if y not in known]
        if fresh:
            known.update(zip(fresh, (yield list(fresh)), strict=True))
        y = min(around, key=known.__getitem__, default=x)
        if known[y] >= known[x]:
            return x
        x = y
