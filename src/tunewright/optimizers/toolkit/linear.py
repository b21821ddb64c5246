"""Bayesian linear regression with its two precisions set by the evidence (Bishop 2006, section 3.5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["BayesianRidge"]

_Vector = npt.NDArray[np.float64]
_BOUNDS = (1e-2, 1e4)


class BayesianRidge:
    """Posterior over the weights of a linear model; the precisions start where the last fit left them."""

    def __init__(self, features: int) -> None:
        """Args: features: columns of the design matrix, the constant included."""
        self._features = features
        self._alpha = 1.0  # precision of the prior over weights
        self._beta = 10.0  # precision of the noise
        self._mean = np.zeros(features)
        self._basis = np.zeros((features, 0))
        self._scale = np.ones(0)

    def fit(self, rows: _Vector, targets: _Vector, rounds: int = 5) -> None:
        """Condition on all data.

        Args:
            rows: design matrix, n x features.
            targets: n values, standardised.
            rounds: evidence updates (Bishop, equations 3.92 and 3.95).
        """
        values, basis = _eigen(rows)
        projected = basis.T @ (rows.T @ targets)
        energy = float(targets @ targets)
        for _ in range(rounds):
            precision = self._alpha + self._beta * values
            mean = self._beta * projected / precision
            effective = float(np.sum(self._beta * values / precision))
            residual = energy - 2 * float(mean @ projected) + float(mean @ (values * mean))
            self._alpha = _within(effective / (float(mean @ mean) + 1e-3))
            self._beta = _within(max(len(targets) - effective, 1e-3) / (max(residual, 0.0) + 1e-3))
        precision = self._alpha + self._beta * values
        self._basis = basis
        self._scale = 1 / np.sqrt(precision)
        self._mean = basis @ (self._beta * projected / precision)

    def draw(self, normal: _Vector) -> _Vector:
        """One weight vector of the posterior, made of a standard normal vector of the same length."""
        inside = self._basis.T @ normal
        prior = normal / np.sqrt(self._alpha)  # outside the basis the data say nothing
        weights: _Vector = self._mean + prior + self._basis @ ((self._scale - 1 / np.sqrt(self._alpha)) * inside)
        return weights


def _eigen(rows: _Vector) -> tuple[_Vector, _Vector]:
    """Eigenvalues above zero, and their vectors, of rows' rows; by way of the smaller of its two products.

    A singular value decomposition of the rows would say the same, but now and then does not converge.
    """
    if len(rows) >= rows.shape[1]:
        values, basis = np.linalg.eigh(rows.T @ rows)
        return np.maximum(values, 0.0), basis
    values, left = np.linalg.eigh(rows @ rows.T)
    kept = values > 1e-10 * values[-1]
    return values[kept], rows.T @ left[:, kept] / np.sqrt(values[kept])


def _within(precision: float) -> float:
    return min(max(precision, _BOUNDS[0]), _BOUNDS[1])
