"""OpenTuner's ensembles on recorded spaces, by ask and tell.

A parameter of numbers is an integer, its value's index; one that holds texts is a switch. OpenTuner knows no
constraints: what is no valid configuration is reported as an error, as a failed one is.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from tunewright.bench.foreign import Simulation
from tunewright.errors import OptionError
from tunewright.space import SearchSpace

__all__ = ["HYPERPARAMETERS", "load", "names", "ready", "tune"]

HYPERPARAMETERS: Mapping[str, Mapping[str, Sequence[object]]] = {}
_IDLE = 1000  # questions in a row without a proposal after which it has none left


class _Method(NamedTuple):
    """The names of the techniques to use, and all techniques as they were before the first run."""

    technique: Sequence[str]
    fresh: list[Any]


def names() -> tuple[str, ...]:
    """The techniques of the installed version."""
    return ("default", *sorted(technique.name for technique in _techniques()))


def load(target: str) -> _Method:
    """A technique; ``default`` names none: OpenTuner then takes its usual ensemble."""
    techniques = _techniques()
    if target not in ("default", *(technique.name for technique in techniques)):
        raise OptionError(f"OpenTuner has no technique {target!r}; it has {', '.join(names())}")
    return _Method([] if target == "default" else [target], copy.deepcopy(techniques))


def ready(space: SearchSpace) -> None:
    """Nothing to share: a manipulator belongs to its run."""


def tune(method: _Method, options: Mapping[str, Any], simulation: Simulation, shared: None, seed: int) -> None:
    """Ask and report until the simulation stops it, or OpenTuner has no proposal left."""
    import opentuner
    from opentuner.api import TuningRunManager
    from opentuner.measurement.interface import DefaultMeasurementInterface

    if options:
        raise OptionError(f"OpenTuner's techniques take no options, got {', '.join(options)}")
    _repeatable()
    _techniques()[:] = copy.deepcopy(method.fresh)
    arguments = argparse.ArgumentParser(parents=opentuner.argparsers()).parse_args([])
    arguments.technique = list(method.technique)
    arguments.database = "sqlite://"  # in memory
    arguments.no_dups = arguments.quiet = True
    interface = DefaultMeasurementInterface(
        args=arguments, manipulator=_manipulator(simulation.space), project_name="run", program_name="run"
    )
    manager = TuningRunManager(interface, arguments)
    names = [f"p{k}" for k in range(len(simulation.space.names))]
    idle = 0
    while idle < _IDLE:
        wanted = manager.get_next_desired_result()
        if wanted is None:
            idle += 1
            continue
        idle = 0
        found = simulation.space.find_codes([wanted.configuration.data.get(name, 0) for name in names])
        cost = simulation.cost(found)
        failed = {"state": "ERROR"} if cost == inf else {}
        manager.report_result(wanted, opentuner.Result(time=cost, **failed))


def _manipulator(space: SearchSpace) -> Any:
    from opentuner import ConfigurationManipulator, IntegerParameter
    from opentuner.search.manipulator import SwitchParameter

    manipulator = ConfigurationManipulator()
    for k, values in enumerate(space.parameters.values()):
        if len(values) == 1:
            continue
        texts = any(isinstance(value, str) for value in values)
        name = f"p{k}"
        manipulator.add_parameter(
            SwitchParameter(name, len(values)) if texts else IntegerParameter(name, 0, len(values) - 1)
        )
    return manipulator


def _techniques() -> list[Any]:
    """All techniques: objects that remember, shared by all runs of a process unless they are replaced."""
    from opentuner import tuningrunmain
    from opentuner.search.technique import all_techniques

    tuningrunmain.init_logging = lambda: None  # it would write a file into the working directory
    found: list[Any] = all_techniques()[0]
    return found


class _Ticks:
    """A clock that goes on by one with each look."""

    def __init__(self) -> None:
        self._now = 0

    def time(self) -> int:
        self._now += 1
        return self._now


def _repeatable() -> None:
    """Let members of a population be as old as their number, and shuffled from an order that is always the same.

    OpenTuner takes the time of day for their age, and the order of a set, which is that of addresses.
    """
    from opentuner.search import composableevolutionarytechniques, differentialevolution

    for module in (composableevolutionarytechniques, differentialevolution):
        module.time = _Ticks()
        member = module.PopulationMember
        if "__hash__" not in vars(member):
            member.__init__ = _numbered(member.__init__)
            member.__hash__ = lambda self: self.number


def _numbered(plain: Callable[..., None]) -> Callable[..., None]:
    def create(self: Any, *arguments: Any, **named: Any) -> None:
        plain(self, *arguments, **named)
        self.number = self.timestamp

    return create
