"""Gaussian process on configurations: a kernel of ordinal and Hamming distances, its scales by the evidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tunewright.space import SearchSpace

__all__ = ["DiscreteKernel", "GaussianProcess"]

Table = npt.NDArray[np.float64]

_STEPS, _RATE = 12, 0.25
_NOISE = (1e-4, 0.3)


class DiscreteKernel:
    """exp(-d), d the root of a weighted sum over parameters: squared difference of places, or 1 for other texts.

    Half of each number's weight is on the place in its list (0 to 1), half on being the same value at all, so that
    cliffs between neighbouring values are no surprise. A process with exp(-d) is continuous and not smooth.
    """

    def __init__(self, space: SearchSpace) -> None:
        """Args: space: whose configurations are compared."""
        self._space = space
        self._columns: list[tuple[int, int, bool]] = [
            (j, len(values), any(isinstance(value, str | bool) for value in values))
            for j, values in enumerate(space.parameters.values())
            if len(values) > 1
        ]
        self.weights = np.full(len(self._columns), 1.0)

    def embed(self, ids: Sequence[int]) -> Table:
        """Rows whose squared distances are the sums inside d, by the present weights."""
        codes = self._space.codes_of(ids)
        parts: list[Table] = []
        for (j, count, text), weight in zip(self._columns, self.weights, strict=True):
            column = codes[:, j]
            share = 1.0 if text else 0.5
            parts.append((column[:, None] == np.arange(count)) * np.sqrt(share * weight / 2))
            if not text:
                parts.append((column / (count - 1) * np.sqrt(0.5 * weight))[:, None])
        return np.hstack(parts) if parts else np.zeros((len(codes), 1))

    def squares(self, ids: Sequence[int]) -> Table:
        """The sum inside d for each pair, parameter by parameter and without weights; parameters x n x n."""
        codes = self._space.codes_of(ids)
        found = np.empty((len(self._columns), len(codes), len(codes)))
        for k, (j, count, text) in enumerate(self._columns):
            column = codes[:, j]
            other = (column[:, None] != column).astype(np.float64)
            found[k] = other if text else 0.5 * other + 0.5 * ((column[:, None] - column) / (count - 1)) ** 2
        return found


class GaussianProcess:
    """Posterior of costs, standardised; the scales of the kernel climb the evidence from where they were left."""

    def __init__(self, space: SearchSpace) -> None:
        """Args: space: where."""
        self.kernel = DiscreteKernel(space)
        self._noise = 0.05
        self._rows: Table = np.zeros((0, 1))
        self._inverse: Table = np.zeros((0, 0))
        self._alpha: Table = np.zeros(0)

    def learn_scales(self, ids: Sequence[int], targets: Table) -> None:
        """Some steps up the log marginal likelihood in the logarithms of weights and noise (sign and size bounded).

        Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, equation 5.9.
        """
        squares = self.kernel.squares(ids)
        logs = np.append(np.log(self.kernel.weights), np.log(self._noise))
        momentum = np.zeros_like(logs)
        for _ in range(_STEPS):
            weights = np.exp(logs[:-1])
            distance = np.sqrt(np.tensordot(weights, squares, 1) + 1e-12)
            signal = np.exp(-distance)
            noise = float(np.exp(logs[-1]))
            inverse = np.linalg.inv(signal + noise * np.eye(len(targets)))
            alpha = inverse @ targets
            inner = 0.5 * (np.outer(alpha, alpha) - inverse)
            by_square = -signal / (2 * distance) * inner
            gradient = np.append(weights * np.tensordot(squares, by_square, 2), noise * np.trace(inner))
            gradient[:-1] -= 0.5 * (logs[:-1] - 0.5)  # a weak prior keeps unused weights from running away
            momentum = 0.6 * momentum + _RATE * gradient / (np.abs(gradient).max() + 1e-12)
            logs = logs + momentum
            logs[:-1] = np.clip(logs[:-1], -7.0, 5.0)
            logs[-1] = np.clip(logs[-1], *np.log(_NOISE))
        self.kernel.weights = np.exp(logs[:-1])
        self._noise = float(np.exp(logs[-1]))

    def fit(self, ids: Sequence[int], targets: Table) -> None:
        """Condition on some configurations and their standardised costs."""
        self._rows = self.kernel.embed(ids)
        covariance = _similarity(self._rows, self._rows) + self._noise * np.eye(len(targets))
        self._inverse = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        self._alpha = self._inverse @ targets

    def predict(self, rows: Table) -> tuple[Table, Table]:
        """Mean and standard deviation at rows of `DiscreteKernel.embed`."""
        similarity = _similarity(rows, self._rows)
        mean = similarity @ self._alpha
        variance = 1.0 - np.einsum("ij,ij->i", similarity @ self._inverse, similarity)
        return mean, np.sqrt(np.maximum(variance, 1e-9))

    def success(self, rows: Table, known: Table, works: npt.NDArray[np.bool_]) -> Table:
        """Probability that configurations work, from how like they are to those that did and did not."""
        similarity = _similarity(rows, known) ** 2
        prior = 0.1
        chance: Table = (similarity @ works + prior) / (similarity.sum(axis=1) + prior)
        return chance


def _similarity(left: Table, right: Table) -> Table:
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1) - 2 * left @ right.T
    similarity: Table = np.exp(-np.sqrt(np.maximum(squares, 0.0)))
    return similarity
