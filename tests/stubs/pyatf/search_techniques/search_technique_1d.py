"""Techniques that number configurations."""


class SearchTechnique1D:
    """Base class."""
