"""Options and strategies."""

import random
from types import SimpleNamespace

from kernel_tuner.strategies.common import CostFunc
from kernel_tuner.util import StopCriterionReached


class Options(dict):
    """A dictionary with attributes."""

    __getattr__ = dict.__getitem__


def _walk(searchspace, runner, tuning_options):
    """Random configurations, each asked for twice, until the budget is spent; `invalid` ones in between."""
    assert searchspace.memory == {"adjacent": {}}, "each run begins without memories"
    func = CostFunc(searchspace, tuning_options, runner)
    invalid = tuning_options.strategy_options.get("invalid", False)
    try:
        while True:
            config = list(random.choice(searchspace.list))
            func(config)
            func(config)
            if invalid:
                func([None] * len(config))
    except StopCriterionReached:
        return func.results


def _first(searchspace, runner, tuning_options):
    """The first configuration for ever."""
    func = CostFunc(searchspace, tuning_options, runner)
    while True:
        func(searchspace.list[0])


def _nowhere(searchspace, runner, tuning_options):
    """Invalid configurations for ever."""
    func = CostFunc(searchspace, tuning_options, runner)
    while True:
        func([None])


def _early(searchspace, runner, tuning_options):
    """Three configurations."""
    func = CostFunc(searchspace, tuning_options, runner)
    for config in searchspace.list[:3]:
        func(config)


def _raises(searchspace, runner, tuning_options):
    raise ZeroDivisionError("by nought")


strategy_map = {
    name: SimpleNamespace(tune=tune, _options={"invalid": ("", False)})
    for name, tune in {"walk": _walk, "first": _first, "nowhere": _nowhere, "early": _early, "raises": _raises}.items()
}
