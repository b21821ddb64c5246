"""Numeric views of parameters: features for models, positions for distances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tunewright.space.parameters import Value

__all__ = ["distances", "features", "unit_tables"]

Floats = npt.NDArray[np.float64]


def features(parameters: Mapping[str, tuple[Value, ...]]) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Return, per parameter of several values, a table (values x columns) in [0, 1], and all column names.

    Numbers: log2 where all values are positive, else the value, and a column of ranks where that differs.
    Strings, and lists that hold any: one column a value.
    """
    tables: dict[str, Floats] = {}
    names: list[str] = []
    for name, values in parameters.items():
        if len(values) == 1:
            continue
        if any(isinstance(value, str) for value in values):
            tables[name] = np.eye(len(values))
            names += [f"{name}={value}" for value in values]
            continue
        positive = all(value > 0 for value in values if not isinstance(value, str))
        scaled = _unit(np.array([_log2(value) if positive else _float(value) for value in values]))
        ranks = _unit(np.argsort(np.argsort(scaled, kind="stable"), kind="stable").astype(np.float64))
        columns = [scaled]
        names.append(f"log2({name})" if positive else name)
        if not np.allclose(scaled, ranks):
            columns.append(ranks)
            names.append(f"rank({name})")
        tables[name] = np.stack(columns, axis=1)
    return tables, tuple(names)


def unit_tables(parameters: Mapping[str, tuple[Value, ...]]) -> list[Floats]:
    """Return, per parameter, coordinates (values x columns) that weigh all parameters alike."""
    tables = []
    for values in parameters.values():
        if any(isinstance(value, str) for value in values):
            tables.append(np.eye(len(values)) * math.sqrt(0.5))
        else:
            tables.append(np.arange(len(values))[:, None] / max(len(values) - 1, 1))
    return tables


def distances(values: Sequence[Value], wanted: object) -> Floats:
    """Return each value's distance from the wanted one: index difference / (count - 1); strings 0 or 1.

    A number that is not in the list lies between its neighbours in value, or at the end of the list.
    """
    if any(isinstance(value, str) for value in values):
        return np.array([0.0 if value == wanted else 1.0 for value in values])
    if wanted in values:
        position = float([value == wanted for value in values].index(True))
    elif isinstance(wanted, int) or (isinstance(wanted, float) and not math.isnan(wanted)):
        numbers = np.array([_float(value) for value in values])
        order = np.argsort(numbers, kind="stable")
        position = float(np.interp(_float(wanted), numbers[order], order.astype(np.float64)))
    else:
        return np.ones(len(values))
    far: Floats = np.abs(np.arange(len(values)) - position) / max(len(values) - 1, 1)
    return far


def _float(value: Value) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(1.7e308, 1 if isinstance(value, int) and value > 0 else -1)


def _log2(value: Value) -> float:
    return math.log2(value) if isinstance(value, int | float) else 0.0


def _unit(numbers: Floats) -> Floats:
    scale = float(np.abs(numbers).max()) or 1.0
    scaled = numbers / scale
    low, high = float(scaled.min()), float(scaled.max())
    return (scaled - low) / (high - low) if high > low else np.zeros(len(numbers))
