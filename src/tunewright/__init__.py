"""tunewright: predicts good configurations of compute kernels, and designs its own search algorithms."""

from tunewright.version import __version__

__all__ = ["__version__"]
