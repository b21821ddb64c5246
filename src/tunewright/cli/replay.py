"""Run an optimizer against a recording of any format; nothing is compiled or measured."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from dataclasses import replace

from tunewright.cli.load import add_hint_options, read_hinted
from tunewright.cli.options import add_search_options, assignments, print_json
from tunewright.cli.show import configuration_text
from tunewright.errors import OptionError
from tunewright.measure import Objective, Stopped
from tunewright.records import PartialRecord, RecordedSpace, derive, goal_of
from tunewright.tune import DEFAULT_OPTIMIZER, replay

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("recording", metavar="RECORDING", help="a recording of any format (docs/formats.md)")
    add_search_options(parser, DEFAULT_OPTIMIZER)
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME=EXPRESSION",
        help="compute a metric from recorded figures, parameters and problem sizes; may be repeated",
    )
    parser.add_argument("--objective", metavar="NAME", help="the metric that counts (default: the recording's own)")
    add_hint_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    recorded = _recorded(options)
    result = replay(
        recorded,
        optimizer=options.optimizer,
        evaluations=options.evaluations,
        seconds=options.seconds,
        seed=options.seed,
        options=assignments(options.option),
    )
    costs = map(recorded.objective.value, recorded.measurements)
    optimum = min(costs)
    best = result.best
    found = None
    if best is not None:
        found = {
            "configuration": recorded.space.config(best.id),
            "cost": best.cost,
            "evaluation": next(k for k, trial in enumerate(result.trials, 1) if trial is best),
            "value": best.cost if recorded.objective.goal == "min" else -best.cost,
            "optimum": optimum if recorded.objective.goal == "min" else -optimum,
            "fraction_of_optimum": _fraction(optimum, best.cost),
        }
    data = {
        "recording": recorded.task.label,
        "objective": recorded.objective.metric,
        "optimizer": result.optimizer,
        "seed": result.seed,
        "evaluations": len(result.trials),
        "repeats": result.repeats,
        "seconds": result.clock_s,
        "stopped": result.stopped.value,
        "counts": {status.value: count for status, count in result.counts.items()},
        "best": found,
        "optimum": optimum if math.isfinite(optimum) else None,
        "notes": [*recorded.notes, *result.notes],
    }
    if options.json:
        print_json(data)
    else:
        _show(data)
    if result.stopped is Stopped.INTERRUPTED:
        return 130
    if result.failure:
        return 4
    return 0 if best is not None else 1


def _recorded(options: argparse.Namespace) -> RecordedSpace:
    """The recording, with the metrics and the objective asked for now."""
    record = read_hinted(options.recording, options)
    recorded = record.recorded_space() if isinstance(record, PartialRecord) else record
    if options.metric:
        recorded = derive(recorded, _expressions(options.metric))
    if options.objective is None:
        return recorded if options.goal is None else replace(recorded, objective=_towards(recorded, options.goal))
    known = {"runtime_ms", *(name for measurement in recorded.measurements for name in measurement.metrics)}
    if options.objective not in known:
        raise OptionError(f"no metric {options.objective!r} is recorded; there are {', '.join(sorted(known))}")
    goal = options.goal or goal_of(options.objective) or "min"
    return replace(recorded, objective=Objective(metric=options.objective, goal=goal))


def _towards(recorded: RecordedSpace, goal: str) -> Objective:
    return Objective(recorded.objective.metric, recorded.objective.reduction, goal)


def _expressions(texts: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, expression = text.partition("=")
        if not equals or not name.strip():
            raise OptionError(f"expected NAME=EXPRESSION, got {text!r}")
        found[name.strip()] = expression
    return found


def _fraction(optimum: float, cost: float) -> float | None:
    """How near the best found is to the optimum, 1 at it; None where a ratio has no meaning."""
    if cost > 0 and optimum > 0:
        return optimum / cost
    return cost / optimum if cost < 0 and optimum < 0 else None


def _show(data: dict[str, object]) -> None:
    print(
        f"{data['recording']}: {data['optimizer']}, {data['evaluations']} evaluations, "
        f"{data['repeats']} repeats, {data['seconds']:.1f} recorded seconds, stopped: {data['stopped']}"
    )
    best = data["best"]
    if not isinstance(best, dict):
        print("no configuration works")
        return
    print(f"best  {best['value']:.6g} ({data['objective']}) at evaluation {best['evaluation']}")
    if best["fraction_of_optimum"] is not None:
        print(f"      {best['fraction_of_optimum']:.4f} of the optimum {best['optimum']:.6g}")
    print(f"      {configuration_text(best['configuration'])}")
    for note in data["notes"]:  # type: ignore[attr-defined]  # a list of texts
        print(f"note  {note}")
