"""Run an optimizer against a recorded space; nothing is compiled or measured."""

from __future__ import annotations

import argparse
import math

from tunewright.cli.options import add_search_options, assignments, print_json
from tunewright.cli.show import configuration_text
from tunewright.records import read_cache
from tunewright.tune import DEFAULT_OPTIMIZER, replay

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("cache", metavar="CACHE", help="Kernel Tuner cache file (.json or .json.gz)")
    add_search_options(parser, DEFAULT_OPTIMIZER)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    recorded = read_cache(options.cache)
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
            "fraction_of_optimum": optimum / best.cost if best.cost > 0 else None,
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
        "notes": list(result.notes),
    }
    if options.json:
        print_json(data)
    else:
        _show(data)
    return 0 if best is not None else 1


def _show(data: dict[str, object]) -> None:
    print(
        f"{data['recording']}: {data['optimizer']}, {data['evaluations']} evaluations, "
        f"{data['repeats']} repeats, {data['seconds']:.1f} recorded seconds, stopped: {data['stopped']}"
    )
    best = data["best"]
    if not isinstance(best, dict):
        print("no configuration works")
        return
    print(f"best  {best['cost']:.6g} ({data['objective']}) at evaluation {best['evaluation']}")
    if best["fraction_of_optimum"] is not None:
        print(f"      {best['fraction_of_optimum']:.4f} of the optimum {data['optimum']:.6g}")
    print(f"      {configuration_text(best['configuration'])}")
    for note in data["notes"]:  # type: ignore[attr-defined]  # a list of texts
        print(f"note  {note}")
