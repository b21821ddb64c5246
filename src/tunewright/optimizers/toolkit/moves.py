"""Random valid moves, drawn on value indices, so that no neighbourhood has to be listed for one of its members."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import accumulate
from random import Random

from tunewright.optimizers.toolkit.draw import below, shuffled
from tunewright.space import SearchSpace

__all__ = ["Moves"]

_TRIES = 6
"""Draws that may be invalid or seen before a neighbourhood is listed after all."""


class Moves:
    """Draws neighbours of configurations.

    >>> space = SearchSpace({"x": [1, 2, 4], "y": [1, 2, 4]}, ["x * y <= 4"])
    >>> moves = Moves(space, Random(1))
    >>> sorted({moves.single(0) for _ in range(50)}) == list(space.neighbors(0))
    True
    """

    def __init__(self, space: SearchSpace, rng: Random) -> None:
        """Args: space: where to move. rng: random numbers."""
        self._space = space
        self._rng = rng
        self.lengths = [len(values) for values in space.parameters.values()]
        self.free = [k for k, length in enumerate(self.lengths) if length > 1]
        self._ends = list(accumulate(self.lengths[k] - 1 for k in self.free))

    def single(self, i: int) -> int:
        """A random configuration that differs from i in one parameter, each alike; i itself if there is none."""
        for _ in range(_TRIES):
            j = self._try(i)
            if j is not None:
                return j
        around = self._space.neighbors(i)
        return around[below(len(around), self._rng)] if around else i

    def unseen(self, i: int, seen: Collection[int]) -> int:
        """A random neighbour of i that is not in `seen`, a next value before any other; -1 if there is none."""
        rest = [j for j in self._space.neighbors(i, "step") if j not in seen]
        if not rest:
            rest = [j for j in self._space.neighbors(i) if j not in seen]
        return rest[below(len(rest), self._rng)] if rest else -1

    def several(self, i: int, count: int) -> int:
        """Make some random single moves, one after the other; the place where they lead, which may be i again."""
        for _ in range(count):
            i = self.single(i)
        return i

    def box(self, i: int) -> int:
        """Move every value index by at most one, at random; i itself where none of a few tries is valid."""
        old = self._space.code_row(i)
        random = self._rng.random
        for _ in range(_TRIES):
            codes = list(old)
            for k in self.free:
                codes[k] = min(max(codes[k] + int(3 * random()) - 1, 0), self.lengths[k] - 1)
            j = self._space.find_codes(codes)
            if j is not None:
                return j
        return i

    def displaced(self, i: int, reach: float) -> int:
        """Move every value index by up to `reach` times its list, at least one; as far as that is valid."""
        codes = list(self._space.code_row(i))
        random = self._rng.random
        for k in self.free:
            last = self.lengths[k] - 1
            shift = (2 * random() - 1) * max(reach * last, 1.0)
            codes[k] = min(max(codes[k] + round(shift), 0), last)
        return self.toward(i, codes)

    def toward(self, i: int, goal: Sequence[int]) -> int:
        """The configuration with the value indices `goal` if it is valid, else one between it and i.

        The walk from i takes over one value at a time, in random order, as long as the step is valid, and comes
        back to those that were not until none of them is.
        """
        whole = self._space.find_codes(goal)
        if whole is not None:
            return whole
        codes = list(self._space.code_row(i))
        differing = [k for k in self.free if codes[k] != goal[k]]
        moved = True
        while moved:
            moved, blocked = False, []
            for k in shuffled(differing, self._rng):
                old, codes[k] = codes[k], goal[k]
                j = self._space.find_codes(codes)
                if j is None:
                    codes[k] = old
                    blocked.append(k)
                else:
                    i, moved = j, True
            differing = blocked
        return i

    def _try(self, i: int) -> int | None:
        """Change one parameter of i, each of its other values alike; None where that is not valid."""
        if not self._ends:
            return None
        number = below(self._ends[-1], self._rng)
        at = bisect_right(self._ends, number)
        k = self.free[at]
        codes = list(self._space.code_row(i))
        codes[k] = (codes[k] + self._ends[at] - number) % self.lengths[k]
        return self._space.find_codes(codes)
