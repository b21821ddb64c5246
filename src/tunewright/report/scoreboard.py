"""The page of a comparison: scores with intervals, curves, a heat map, time to target, failures and repeats."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from tunewright.bench.score import ContestantScore, SpaceScore, Table
from tunewright.bench.suite import Suite
from tunewright.report.curves import Curve, chart, sample
from tunewright.report.page import page, table
from tunewright.version import __version__

__all__ = ["scoreboard"]

_SCORE = (
    "The score is 0 for random search and 1 for the optimum at once: the share of random search's distance to the "
    "optimum that an optimizer saves, averaged over a window of tuning time at whose end random search has come within "
    "5 % of the way from the median. Spaces are averaged within a kernel family, then over families."
)
_CURVES = (
    "Share of the way from the space's median to its optimum that the best configuration so far has gone; mean over "
    "runs with its 95 % interval."
)
_TARGETS = "median over spaces of the median over runs until a fraction of the optimum; '-': half did not get there"

_SHOWN = 8
"""Curves shown at first; the others can be switched on."""


def scoreboard(suite: Suite, scores: Table, command: str = "") -> str:
    """A self-contained HTML document.

    Args:
        suite: what was scored on.
        scores: the contestants.
        command: how the page can be made again.
    """
    request = scores.request
    families = list(scores.rows[0].families)
    facts = [
        f"suite {suite.name}, version {suite.version}: {len(scores.rows[0].spaces)} spaces in {len(families)} families",
        f"{request.repeats} runs of each optimizer on each space, seed {request.seed}",
        f"tunewright {__version__}",
    ]
    if request.noise:
        facts.append("evaluations answered with recorded samples drawn at random")
    if request.shuffled:
        facts.append("null space: costs dealt out anew in each run, so that nothing can be learned")
    if request.charge:
        facts.append(
            f"{request.charge:g} s on the tuning clock for each processor second of the optimizer; "
            "these figures depend on the machine"
        )
    body = [
        f"<h1>Optimizers on {escape(suite.name)}</h1>",
        "<ul>" + "".join(f"<li>{escape(fact)}</li>" for fact in facts) + "</ul>",
        f"<p><code>{escape(command)}</code></p>" if command else "",
        f"<p>{_SCORE}</p>",
        "<h2>Scores</h2>",
        _scores(scores),
        "<h2>Best so far, over time</h2>",
        f"<p>{_CURVES}</p>",
        _keys(scores),
        '<div class="charts">',
        _figure("all families, time as a share of each window", _overall(scores), "window"),
        *(_figure(space, _curves(scores, space), "s") for space in scores.rows[0].spaces),
        "</div>",
        "<h2>Spaces</h2>",
        _heat(scores),
        "<h2>Time to target</h2>",
        _targets(scores),
        _fractions(scores),
        "<h2>Repeats, failures, early ends</h2>",
        _failures(scores),
        _notes(scores),
    ]
    return page(f"Optimizers on {suite.name}", "\n".join(part for part in body if part))


def _scores(scores: Table) -> str:
    low = min(0.0, *(row.interval.low for row in scores.rows))
    rows = []
    for place, row in enumerate(scores.rows, 1):
        ends, wide = row.interval, row.family_interval
        behind = (
            "" if row.behind is None else f"{row.behind[0]:.3f} ({row.behind[1].low:.3f} to {row.behind[1].high:.3f})"
        )
        evaluations = sum(each.evaluations for each in row.spaces.values())
        cpu = sum(each.cpu_ms * each.evaluations for each in row.spaces.values()) / evaluations if evaluations else 0.0
        rows.append(
            [
                f"{place}. {row.contestant.label}",
                f"{row.value:.3f}",
                _whisker(row, low),
                f"{ends.low:.3f} to {ends.high:.3f}",
                "" if wide is None else f"{wide.low:.3f} to {wide.high:.3f}",
                f"{row.rank:.2f}",
                str(row.wins),
                behind,
                "" if row.p is None else f"{row.p:.4f}",
                f"{cpu:.3f}",
            ]
        )
    heads = ["optimizer", "score", "", "over seeds", "over families", "mean rank", "families won", "behind the best"]
    return table(
        "95 % intervals; p: paired randomisation test against the best, Holm-corrected; ranks are of families",
        [*heads, "p", "CPU ms / evaluation"],
        rows,
    )


def _whisker(row: ContestantScore, low: float) -> str:
    """A dot with its interval on a line from `low` to 1."""

    def at(value: float) -> float:
        return 4 + 112 * (value - low) / (1 - low)

    return (
        '<td><svg viewBox="0 0 120 12" style="width:7.5rem" aria-hidden="true">'
        f'<line class="axis" x1="{at(0):.1f}" x2="{at(0):.1f}" y1="0" y2="12"/>'
        f'<line x1="{at(row.interval.low):.1f}" x2="{at(row.interval.high):.1f}" y1="6" y2="6" stroke="currentColor"/>'
        f'<circle cx="{at(row.value):.1f}" cy="6" r="3" fill="currentColor"/></svg></td>'
    )


def _keys(scores: Table) -> str:
    items = "".join(
        f'<li><button type="button" data-of="c{number}" aria-pressed="{str(number < _SHOWN).lower()}">'
        f"{sample(number)} {escape(row.contestant.label)}</button></li>"
        for number, row in enumerate(scores.rows)
    )
    return f'<ul class="keys" aria-label="curves shown">{items}</ul>'


def _figure(caption: str, curves: list[Curve], unit: str) -> str:
    drawn = chart(curves, f"best so far over time: {caption}", unit)
    for number in range(_SHOWN, len(curves)):
        drawn = drawn.replace(f' c{number}"', f' c{number} off"')
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def _curves(scores: Table, space: str) -> list[Curve]:
    return [
        Curve(row.contestant.label, number, *(part.tolist() for part in row.spaces[space].curve))
        for number, row in enumerate(scores.rows)
    ]


def _overall(scores: Table) -> list[Curve]:
    """Mean over families at equal shares of the window."""
    found = []
    for number, row in enumerate(scores.rows):
        by_family: dict[str, list[SpaceScore]] = {}
        for each in row.spaces.values():
            by_family.setdefault(each.family, []).append(each)
        groups = list(by_family.values())
        mean = np.mean([np.mean([each.curve[1] for each in group], axis=0) for group in groups], axis=0)
        spread = [
            np.sum([((each.curve[3] - each.curve[1]) / len(group)) ** 2 for each in group], axis=0) for group in groups
        ]
        half = np.sqrt(np.sum(spread, axis=0)) / len(groups)
        share = np.linspace(0, 1, len(mean))
        found.append(
            Curve(
                row.contestant.label,
                number,
                share.tolist(),
                mean.tolist(),
                (mean - half).tolist(),
                (mean + half).tolist(),
            )
        )
    return found


def _heat(scores: Table) -> str:
    names = list(scores.rows[0].spaces)
    rows = [[row.contestant.label, *(_warm(row.spaces[name]) for name in names)] for row in scores.rows]
    return table("score of each optimizer on each space, half its 95 % interval below it", ["optimizer", *names], rows)


def _warm(each: SpaceScore) -> str:
    """A cell from red (-1) over white (0) to blue (1)."""
    strength = min(abs(each.value), 1.0)
    red, green, blue = (9, 105, 218) if each.value > 0 else (207, 34, 46)
    mixed = [round(255 + (part - 255) * 0.75 * strength) for part in (red, green, blue)]
    half = (each.interval.high - each.interval.low) / 2
    return (
        f'<td class="heat" style="background:rgb({mixed[0]},{mixed[1]},{mixed[2]})">{each.value:.2f}'
        f"<small>&plusmn;{half:.2f}</small></td>"
    )


def _targets(scores: Table) -> str:
    fractions = list(next(iter(scores.rows[0].spaces.values())).to_fraction)
    rows = []
    for row in scores.rows:
        cells = [row.contestant.label]
        for fraction in fractions:
            found = [each.to_fraction[fraction] for each in row.spaces.values()]
            evaluations, seconds = (sorted(each[k] for each in found)[len(found) // 2] for k in (0, 1))
            share = sum(each[2] for each in found) / len(found)
            cells += [_number(evaluations), _number(seconds), f"{share:.0%}"]
        rows.append(cells)
    heads = [f"{what} {fraction:.2f}" for fraction in fractions for what in ("evaluations to", "seconds to", "reached")]
    return table(_TARGETS, ["optimizer", *heads], rows)


def _fractions(scores: Table) -> str:
    counts = sorted({count for each in scores.rows[0].spaces.values() for count in each.fraction_after})
    if not counts:
        return ""
    rows = []
    for row in scores.rows:
        cells = [row.contestant.label]
        for count in counts:
            values = [each.fraction_after[count] for each in row.spaces.values() if count in each.fraction_after]
            cells.append(f"{sum(values) / len(values):.3f}" if values else "")
        rows.append(cells)
    caption = "fraction of the optimum after so many evaluations, in runs with that budget; mean over spaces"
    return table(caption, ["optimizer", *(str(count) for count in counts)], rows)


def _failures(scores: Table) -> str:
    rows = []
    for row in scores.rows:
        spaces = list(row.spaces.values())
        causes: dict[str, int] = {}
        for each in spaces:
            for cause, count in each.failed.items():
                causes[cause] = causes.get(cause, 0) + count
        most = max(causes, key=causes.__getitem__, default="")
        share = [np.mean([getattr(each, name) for each in spaces]) for name in ("repeats", "failures", "ended_early")]
        rows.append(
            [
                row.contestant.label,
                *(f"{value:.1%}" for value in share),
                str(sum(causes.values())),
                most.partition("\n")[0][:80],
            ]
        )
    heads = [
        "optimizer",
        "repeated proposals",
        "failed configurations",
        "runs ended early",
        "runs failed",
        "mostly because",
    ]
    return table("means over spaces", heads, rows)


def _notes(scores: Table) -> str:
    raised = [f"{name} ({each.goal})" for name, each in scores.rows[0].spaces.items() if each.goal != 0.95]
    notes = [f"not scored: {name}: {why}" for name, why in scores.unscored.items()]
    if raised:
        notes.append(
            "random search has to come nearer than 5 %, since the window would be too short: " + ", ".join(raised)
        )
    if not notes:
        return ""
    return "<h2>Notes</h2><ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"


def _number(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "-"
