"""Derived metrics: figures computed from a measurement by expressions over what was measured and what it belongs to."""

from __future__ import annotations

import difflib
import math
import statistics
from collections.abc import Collection, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from tunewright.errors import ConstraintError, MetricError
from tunewright.measure import Measurement, Status
from tunewright.space.expression import Expression, parse
from tunewright.space.scalar import OversizeError, Scalar, scalar

__all__ = ["TIMES", "Metrics"]

TIMES = ("runtime_ms", "time")
"""Names that every expression may use: the median of the samples; the measured ``time_ms``, or else that median."""


class Metrics:
    """Some derived metrics, each computed after those that it needs.

    Expressions are those of constraints. Names are metrics, measured or derived, in any order; those of `TIMES`;
    parameters; problem sizes. A derived metric replaces a measured one of its name.

    Raises:
        MetricError: an expression cannot be read, a name is taken, or metrics depend on each other in a circle.

    >>> metrics = Metrics({"gflops": "2 * N**3 / runtime_ms / 1e6"})
    >>> metrics.added_to(Measurement(Status.OK, (2.0,)), {"TILE": 16}, {"N": 100}).metrics
    {'gflops': 1.0}
    """

    def __init__(self, expressions: Mapping[str, str], taken: Collection[str] = ()) -> None:
        """Args: expressions: by the name of the metric; taken: names that have another meaning already."""
        self._expressions = {name: _read(name, text, taken) for name, text in expressions.items()}
        needs = {name: [n for n in each.names if n in expressions] for name, each in self._expressions.items()}
        try:
            order = list(TopologicalSorter(needs).static_order())
        except CycleError as error:
            raise MetricError(f"metrics depend on each other in a circle: {' -> '.join(error.args[1])}") from error
        self._steps: list[tuple[str, Scalar]] = [(name, scalar(self._expressions[name].node)) for name in order]

    def check_names(self, known: Collection[str]) -> None:
        """Make sure that every name in an expression is known, derived or a time.

        Raises:
            MetricError: one is not; says which there are.
        """
        there = sorted({*known, *self._expressions, *TIMES})
        for metric, expression in self._expressions.items():
            for name in expression.names:
                if name not in there:
                    close = difflib.get_close_matches(name, there, n=1)
                    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(there)}"
                    raise MetricError(f"metric {metric!r} needs {name!r}, which is not known; {hint}")

    def added_to(
        self, measurement: Measurement, configuration: Mapping[str, object], problem: Mapping[str, object]
    ) -> Measurement:
        """The measurement with these metrics; as it is if it failed, or if there are none.

        Args:
            measurement: what was measured.
            configuration: of which.
            problem: sizes by name.

        Raises:
            MetricError: a value is missing, or a result is no finite number.
        """
        if measurement.status is not Status.OK or not self._steps:
            return measurement
        names: dict[str, Any] = {**problem, **measurement.metrics}
        if measurement.runtimes_ms:
            names["runtime_ms"] = statistics.median(measurement.runtimes_ms)
        if "time_ms" in names or "runtime_ms" in names:
            names["time"] = names.get("time_ms", names.get("runtime_ms"))
        names = {**{name: value for name, value in names.items() if name not in self._expressions}, **configuration}
        derived = dict(measurement.metrics)
        for name, compute in self._steps:
            names[name] = derived[name] = _computed(name, compute, names, configuration)
        return replace(measurement, metrics=derived)


def _read(name: str, text: object, taken: Collection[str]) -> Expression:
    if name in taken or name in TIMES:
        raise MetricError(f"a metric cannot be called {name!r}, which has a meaning already; choose another name")
    if not isinstance(text, str):
        raise MetricError(f"metric {name!r} must be an expression as text, not {text!r}")
    try:
        return parse(text)
    except ConstraintError as error:
        raise MetricError(f"metric {name!r}: {str(error).replace('constraint', 'expression', 1)}") from error


def _computed(name: str, compute: Scalar, names: Mapping[str, Any], configuration: Mapping[str, object]) -> float:
    where = dict(configuration)
    try:
        value = compute(names)
        usable = isinstance(value, bool | int | float) and math.isfinite(value)
    except KeyError as error:
        raise MetricError(
            f"metric {name!r} needs {error}, which is missing for {where}; there are {', '.join(sorted(names))}"
        ) from error
    except (ArithmeticError, TypeError, ValueError, OversizeError) as error:
        raise MetricError(f"metric {name!r} cannot be computed for {where}: {error}") from error
    if not usable:
        raise MetricError(f"metric {name!r} is {value!r} for {where}; a finite number is needed")
    return float(value)
