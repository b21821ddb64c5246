"""Switches."""


class SwitchParameter:
    """Numbers from nought."""

    def __init__(self, name, count):
        self.name, self.ends = name, (0, count - 1)
