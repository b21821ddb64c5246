"""The cost function."""

import sys

from kernel_tuner.util import InvalidConfig


class CostFunc:
    """Asks the runner for what is allowed."""

    def __init__(self, searchspace, tuning_options, runner, **_):
        self.searchspace, self.tuning_options, self.runner = searchspace, tuning_options, runner
        self.results = []
        self.budget_spent_fraction = 0.0

    def _normalize_and_validate_config(self, x, check_restrictions=True):
        return x, not check_restrictions or self.searchspace.is_param_config_valid(tuple(x))

    def __call__(self, x, check_restrictions=True):
        budget = self.tuning_options.budget
        self.runner.add_strategy_time(0.0)
        budget.raise_exception_if_done()
        config, legal = self._normalize_and_validate_config(x, check_restrictions=check_restrictions)
        result = self.runner.run([config], self.tuning_options)[0] if legal else {"__error__": InvalidConfig()}
        budget.raise_exception_if_done()
        self.budget_spent_fraction = budget.get_fraction_consumed()
        self.results.append(result)
        return sys.float_info.max if "__error__" in result else result["time"]
