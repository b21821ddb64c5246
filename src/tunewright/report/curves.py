"""Charts of curves with bands, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

__all__ = ["COLOURS", "Curve", "chart", "sample"]

COLOURS = ("#0969da", "#cf222e", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#0f766e", "#c2410c")
"""One for each curve, in order; then again with another dash pattern."""

_DASHES = ("", "6 3", "2 3", "9 3 2 3")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 360, 220, 34, 26, 8


class Curve(NamedTuple):
    """A named curve and its band; `number` decides colour and dashes."""

    name: str
    number: int
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def chart(curves: Sequence[Curve], label: str, unit: str) -> str:
    """Curves over x from 0 to its largest value, y from 0 to 1; a curve's parts carry the class ``cN``."""
    most = max((max(curve.x) for curve in curves), default=1.0) or 1.0
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">',
        *(
            f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH}" y1="{_y(v):.1f}" y2="{_y(v):.1f}"/>'
            f'<text x="0" y="{_y(v) + 4:.1f}">{v:g}</text>'
            for v in (0, 0.25, 0.5, 0.75, 1)
        ),
        f'<text x="{_LEFT}" y="{_HEIGHT - 8}">0</text>',
        f'<text x="{_WIDTH}" y="{_HEIGHT - 8}" text-anchor="end">{_number(most)} {escape(unit)}</text>',
    ]
    for curve in curves:
        colour, dashes = _look(curve.number)
        band = [*zip(curve.x, curve.high, strict=True), *reversed([*zip(curve.x, curve.low, strict=True)])]
        shape = " ".join(f"{_x(x, most):.1f},{_y(y):.1f}" for x, y in band)
        line = " ".join(f"{_x(x, most):.1f},{_y(y):.1f}" for x, y in zip(curve.x, curve.y, strict=True))
        parts.append(f'<polygon class="band c{curve.number}" fill="{colour}" points="{shape}"/>')
        parts.append(
            f'<polyline class="line c{curve.number}" stroke="{colour}" stroke-dasharray="{dashes}" points="{line}">'
            f"<title>{escape(curve.name)}</title></polyline>"
        )
    return "\n".join([*parts, "</svg>"])


def sample(number: int) -> str:
    """A short piece of a curve's line, for a legend."""
    colour, dashes = _look(number)
    return (
        '<svg viewBox="0 0 32 10" aria-hidden="true">'
        f'<line x1="0" x2="32" y1="5" y2="5" stroke="{colour}" stroke-width="3" stroke-dasharray="{dashes}"/></svg>'
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _look(number: int) -> tuple[str, str]:
    return COLOURS[number % len(COLOURS)], _DASHES[number // len(COLOURS) % len(_DASHES)]


def _x(x: float, most: float) -> float:
    return _LEFT + (_WIDTH - _LEFT) * x / most


def _y(y: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - min(max(y, 0.0), 1.0))
