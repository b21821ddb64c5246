"""Logging."""

ERROR = 40


def set_verbosity(level):
    pass
