"""Ask and report."""

import random
from types import SimpleNamespace

from opentuner.search.technique import all_techniques

told = []


class TuningRunManager:
    """Random configurations."""

    def __init__(self, interface, args):
        [technique] = all_techniques()[0]
        assert technique.runs == 0, "each run has techniques of its own"
        technique.runs += 1
        self.parameters = interface.manipulator.parameters

    def get_next_desired_result(self):
        if random.random() < 0.1:
            return None
        data = {parameter.name: random.randint(*parameter.ends) for parameter in self.parameters}
        return SimpleNamespace(configuration=SimpleNamespace(data=data))

    def report_result(self, wanted, result):
        told.append(result)
