"""Optimizers, one file each: ``optimizers/NAME.py`` holds a generator function ``NAME``."""

from tunewright.optimizers.catalogue import hyperparameters, load, names

__all__ = ["hyperparameters", "load", "names"]
