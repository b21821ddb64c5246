"""Optimizers, one file each: ``optimizers/NAME.py`` holds a generator function ``NAME``."""

from tunewright.optimizers.catalogue import exemptions, hyperparameter_values, hyperparameters, load, names

__all__ = ["exemptions", "hyperparameter_values", "hyperparameters", "load", "names"]
