"""Samplers."""

import random

__all__ = ["BaseSampler", "TPESampler"]


class BaseSampler:
    """Abstract."""


class TPESampler(BaseSampler):
    """Uniform."""

    def __init__(self, *, n_startup_trials=10, seed=None):
        self.rng = random.Random(seed)
