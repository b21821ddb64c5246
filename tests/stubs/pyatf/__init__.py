"""Stand-in for pyATF."""


def Set(*values):
    return values


class TP:
    """A parameter."""

    def __init__(self, name, values, constraint=None):
        self.name, self.values, self.constraint = name, values, constraint


class Tuner:
    """Asks its technique until the condition holds; a failed configuration is one that raises."""

    told: list = []

    def search_space(self, space):
        self.space = space
        return self

    def search_technique(self, technique):
        self.technique = technique
        return self

    def verbosity(self, _):
        return self

    def tune(self, cost_function, abort_condition):
        from pyatf.tuning_data import CostFunctionError

        for _ in range(abort_condition.evaluations):
            try:
                self.told.append(cost_function(self.technique.choose(self.space)))
            except CostFunctionError:
                self.told.append(None)
