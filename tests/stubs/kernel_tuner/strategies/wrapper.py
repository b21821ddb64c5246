"""Classes of users."""

from kernel_tuner.strategies.common import CostFunc
from kernel_tuner.util import StopCriterionReached


class OptAlg:
    """Base class."""

    def __init__(self):
        self.costfunc_kwargs = {"scaling": False, "snap": False}


class OptAlgWrapper:
    """Makes a strategy of an instance."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def tune(self, searchspace, runner, tuning_options):
        func = CostFunc(searchspace, tuning_options, runner)
        try:
            self.optimizer(func, searchspace)
        except StopCriterionReached:
            pass
        return func.results
