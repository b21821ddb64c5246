"""Compares what a kernel wrote with what it should have written."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tunewright.kernel.spec import Verification
from tunewright.runners.arrays import POISONS, Array, Buffers

__all__ = ["Expected", "meaningless"]

_BLOCK = 1 << 16


class Expected:
    """The right outputs, and how far from them a result may be."""

    def __init__(self, outputs: Mapping[int, Array], buffers: Buffers, verification: Verification) -> None:
        """Args: outputs: by argument number; buffers: where results are; verification: tolerances."""
        self._buffers = buffers
        self._outputs = {number: array.reshape(-1) for number, array in outputs.items()}
        self._bounds = {n: _tolerance(array, buffers.longest, verification) for n, array in outputs.items()}

    @property
    def weak(self) -> str:
        """Which array would pass if it held nothing but zeros; empty if none would."""
        for number, expected in self._outputs.items():
            rtol, atol = self._bounds[number]
            zeros = np.zeros_like(expected)
            if expected.any() and not _wrong(zeros, expected, rtol, atol, POISONS[expected.dtype.kind]).any():
                return self._buffers.items[number].argument.name
        return ""

    def difference(self) -> str:
        """What is wrong with the results of the last run; empty when they are right."""
        for number in self._outputs:
            found = self._compare(number)
            if found:
                return found
        return ""

    def _compare(self, number: int) -> str:
        """What is wrong with one array: all its blocks are looked at, for the counts."""
        expected, got = self._outputs[number], self._buffers.result(number).reshape(-1)
        rtol, atol = self._bounds[number]
        poisons = POISONS[got.dtype.kind]
        wrong = unwritten = 0
        first = -1
        for start in range(0, got.size, _BLOCK):
            mine, right = got[start : start + _BLOCK], expected[start : start + _BLOCK]
            bad = _wrong(mine, right, rtol, atol, poisons)
            count = int(np.count_nonzero(bad))
            if not count:
                continue
            if first < 0:
                first = start + int(np.argmax(bad))
            wrong += count
            unwritten += int(np.count_nonzero(_untouched(mine[bad], poisons)))
        if not wrong:
            return ""
        return self._describe(number, wrong, unwritten, first)

    def _describe(self, number: int, wrong: int, unwritten: int, first: int) -> str:
        """One line on a wrong array."""
        buffer = self._buffers.items[number]
        got, expected = self._buffers.result(number).reshape(-1), self._outputs[number]
        name = f"{buffer.argument.role} array {buffer.argument.name}"
        if unwritten == got.size:
            return f"{name}: all {got.size:,} values left unwritten"
        where = [int(i) for i in np.unravel_index(first, buffer.shape)]
        rtol, atol = self._bounds[number]
        allowed = "" if got.dtype.kind != "f" else f", tolerance {rtol:.2g} relative plus {atol:.2g}"
        text = (
            f"{name}: {wrong:,} of {got.size:,} values wrong, first at {where}: "
            f"got {_shown(got[first])}, expected {_shown(expected[first])}{allowed}"
        )
        return f"{text}; {unwritten:,} left unwritten" if unwritten else text


def meaningless(expected: Array) -> str:
    """Why nothing can be compared with an array; empty when something can."""
    flat = expected.reshape(-1)
    if _untouched(flat, POISONS[flat.dtype.kind]).all():
        return "nothing was written (does the kernel write it? do its arguments have the right dtype and order?)"
    if flat.dtype.kind == "f" and np.isnan(flat).all():
        return "every value is NaN (if the kernel reads it before it writes it, its role is inout)"
    return ""


def _shown(value: object) -> str:
    """A number for a message."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float):
        return "NaN" if math.isnan(number) else f"{number:.9g}"
    return str(number)


def _tolerance(expected: Array, longest: int, verification: Verification) -> tuple[float, float]:
    """Relative and absolute tolerance for an array; zeros for integers."""
    if expected.dtype.kind != "f":
        return 0.0, 0.0
    rtol, atol = verification.rtol, verification.atol
    if rtol is None:
        rtol = 32 * float(np.finfo(expected.dtype.name).eps) * math.sqrt(longest)
    if atol is None:
        finite = expected[np.isfinite(expected)].astype(np.float64)
        scale = float(np.max(np.abs(finite), initial=0.0))
        # divided by the largest first, so that squares do not overflow
        atol = rtol * scale * math.sqrt(float(np.mean((finite / scale) ** 2))) if scale else 0.0
    return rtol, atol


def _wrong(
    got: Array, expected: Array, rtol: float, atol: float, poisons: tuple[int, int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which elements differ by more than they may."""
    if got.dtype.kind != "f":
        bad = np.asarray(got != expected)
        if bad.any():  # what the right output leaves alone may hold either pattern
            bad &= ~(_untouched(expected, poisons[:1]) & _untouched(got, poisons))
        return bad
    with np.errstate(all="ignore"):
        mine, right = got.astype(float, copy=False), expected.astype(float, copy=False)
        distance = np.abs(mine - right)
        # an infinite distance is no match, though the tolerance of an infinite value is infinite too
        bad = np.asarray(~((distance <= rtol * np.abs(right) + atol) & (distance < np.inf)))
    if bad.any():
        bad &= ~((got == expected) | (np.isnan(mine) & np.isnan(right)))
    return bad


def _untouched(values: Array, poisons: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which elements consist of poison only."""
    width = values.dtype.itemsize
    bits = np.ascontiguousarray(values).view(f"u{width}")
    found = np.zeros(values.shape, bool)
    for poison in poisons:
        found |= bits == int.from_bytes(bytes([poison]) * width, "little")
    return found
