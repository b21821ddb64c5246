"""Optimizers for other people's tuners: one file each that needs nothing of tunewright."""

from tunewright.export.strategy import export_strategy

__all__ = ["export_strategy"]
