"""When to stop."""


class Evaluations:
    """After so many."""

    def __init__(self, evaluations):
        self.evaluations = evaluations
