"""Errors."""


class StopCriterionReached(Exception):
    """The budget is spent."""


class InvalidConfig(str):
    """Not allowed."""


class RuntimeFailedConfig(str):
    """Failed."""
