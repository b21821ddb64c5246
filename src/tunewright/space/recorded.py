"""Explicit lists of configurations, as recorded files hold them, turned into columns of value indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tunewright.errors import EmptySpaceError, SpaceError
from tunewright.space.parameters import Value, code_dtype, show

__all__ = ["Row", "code_columns"]

Row: TypeAlias = Sequence[object] | Mapping[str, object]


def code_columns(
    parameters: Mapping[str, tuple[Value, ...]], rows: Sequence[Row] | npt.NDArray[np.integer]
) -> list[npt.NDArray[np.integer]]:
    """Return one column of value indices a parameter, checked.

    Raises:
        SpaceError: a row of the wrong length, with a value that is not listed, or given twice.
        EmptySpaceError: no rows.
    """
    if isinstance(rows, str | Mapping) or not isinstance(rows, Sequence | np.ndarray):
        raise SpaceError(f"the configurations are {rows!r}; give a list of rows, each a tuple or a mapping")
    if len(rows) == 0:
        raise EmptySpaceError("no configuration is left: the list of configurations is empty; give at least one")
    matrix = _checked_codes(parameters, rows) if isinstance(rows, np.ndarray) else _coded(parameters, rows)
    _, first, counts = np.unique(matrix, axis=0, return_index=True, return_counts=True)
    if len(first) < len(matrix):
        twice = matrix[first[int(counts.argmax())]]
        config = {name: values[code] for (name, values), code in zip(parameters.items(), twice, strict=True)}
        raise SpaceError(f"the configuration {show(config)} is given {counts.max()} times; give each once")
    return [matrix[:, number].astype(code_dtype(len(values))) for number, values in enumerate(parameters.values())]


def _checked_codes(
    parameters: Mapping[str, tuple[Value, ...]], codes: npt.NDArray[np.integer]
) -> npt.NDArray[np.integer]:
    if codes.ndim != 2 or codes.shape[1] != len(parameters) or codes.dtype.kind not in "iu":
        raise SpaceError(
            f"value indices are an array of shape {codes.shape} and type {codes.dtype}; "
            f"give integers, rows x {len(parameters)} parameters"
        )
    for number, (name, values) in enumerate(parameters.items()):
        low, high = int(codes[:, number].min()), int(codes[:, number].max())
        if low < 0 or high >= len(values):
            raise SpaceError(f"value indices of {name!r} run from {low} to {high}; the list has 0 to {len(values) - 1}")
    return codes


def _coded(parameters: Mapping[str, tuple[Value, ...]], rows: Sequence[Row]) -> npt.NDArray[np.integer]:
    if not parameters:
        return np.zeros((len(rows), 0), dtype=np.int32)
    table = [_values(parameters, number, row) for number, row in enumerate(rows)]
    columns = []
    for (name, values), column in zip(parameters.items(), zip(*table, strict=True), strict=True):
        lookup: dict[object, int] = {value: code for code, value in enumerate(values)}
        try:
            columns.append([lookup[value] for value in column])
        except (KeyError, TypeError) as error:
            wrong = next(value for value in column if value not in values)
            raise SpaceError(
                f"{name} = {wrong!r} is not one of its values {', '.join(map(repr, values))}; add it to the list"
            ) from error
    return np.array(columns, dtype=np.int32).T


def _values(parameters: Mapping[str, tuple[Value, ...]], number: int, row: Row) -> Sequence[object]:
    """Return a row's values in the order of the parameters."""
    known = f"the parameters are {', '.join(parameters)}"
    if isinstance(row, Mapping):
        if row.keys() != parameters.keys():
            raise SpaceError(f"configuration {number} names {', '.join(map(str, row)) or 'nothing'}; {known}")
        return [row[name] for name in parameters]
    if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray):
        raise SpaceError(f"configuration {number} is {row!r}; give a tuple of values or a mapping; {known}")
    if len(row) != len(parameters):
        raise SpaceError(f"configuration {number} has {len(row)} values, {tuple(row)!r}; {known}")
    return row
