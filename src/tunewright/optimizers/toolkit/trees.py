"""Extremely randomised trees for two classes (Geurts et al., Machine Learning 63, 2006), all grown at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["RandomTrees"]

Table = npt.NDArray[np.float64]


class RandomTrees:
    """Probability of a class by the mean over trees, each split the best of some random ones.

    The trees are complete binary trees of one depth, so that all of them are grown level by level in whole arrays.
    """

    def __init__(self, trees: int = 40, depth: int = 7, tries: int = 6) -> None:
        """Args: trees: how many; depth: of each; tries: random splits to choose from at each node."""
        self._trees, self._depth, self._tries = trees, depth, tries
        self._columns = np.zeros((trees, 2**depth), dtype=np.int64)
        self._limits = np.zeros((trees, 2**depth))
        self._leaves = np.zeros((trees, 2**depth))

    def fit(self, rows: Table, good: npt.NDArray[np.bool_], weights: Table, rng: np.random.Generator) -> None:
        """Grow the trees.

        Args:
            rows: n x features.
            good: class of each row.
            weights: of each row.
            rng: random numbers.
        """
        count, features = rows.shape
        trees, tries = self._trees, self._tries
        node = np.zeros((trees, count), dtype=np.int64)  # place within the level
        tree = np.arange(trees)[:, None]
        hits = np.where(good, weights, 0.0)
        for level in range(self._depth):
            width = 2**level
            columns = rng.integers(0, features, (trees, tries, width))
            picked = rows[rng.integers(0, count, (trees, tries, width)), columns]
            other = rows[rng.integers(0, count, (trees, tries, width)), columns]
            limits = picked + rng.random((trees, tries, width)) * (other - picked)
            best = np.full((trees, width), -np.inf)
            chosen, at = np.zeros((trees, width), dtype=np.int64), np.zeros((trees, width))
            key = (tree * width + node).ravel()
            for k in range(tries):
                right = rows[np.arange(count), columns[:, k][tree, node]] > limits[:, k][tree, node]
                side = 2 * key + right.ravel()
                mass = np.bincount(side, np.tile(weights, trees), 2 * trees * width)
                good_mass = np.bincount(side, np.tile(hits, trees), 2 * trees * width)
                gain = (good_mass**2 / np.maximum(mass, 1e-12)).reshape(trees, width, 2).sum(axis=2)
                better = gain > best
                best = np.where(better, gain, best)
                chosen = np.where(better, columns[:, k], chosen)
                at = np.where(better, limits[:, k], at)
            self._columns[:, width - 1 : 2 * width - 1] = chosen
            self._limits[:, width - 1 : 2 * width - 1] = at
            node = 2 * node + (rows[np.arange(count), chosen[tree, node]] > at[tree, node])
        width = 2**self._depth
        key = (tree * width + node).ravel()
        prior = hits.sum() / weights.sum()
        mass = np.bincount(key, np.tile(weights, trees), trees * width)
        good_mass = np.bincount(key, np.tile(hits, trees), trees * width)
        self._leaves = ((good_mass + prior) / (mass + 1)).reshape(trees, width)

    def predict(self, rows: Table) -> Table:
        """Probability of the class for each row."""
        total = np.zeros(len(rows))
        flat, features = np.ascontiguousarray(rows).ravel(), rows.shape[1]
        base = np.arange(len(rows)) * features
        for columns, limits, leaves in zip(self._columns, self._limits, self._leaves, strict=True):
            node = np.zeros(len(rows), dtype=np.int64)
            for level in range(self._depth):
                at = node + (2**level - 1)
                node = 2 * node + (flat[base + columns[at]] > limits[at])
            total += leaves[node]
        mean: Table = total / self._trees
        return mean
