"""Look up the best configuration found so far, by kernel, device and problem size."""

from __future__ import annotations

import argparse
import sys

from tunewright.cli.options import add_store_option, assignments, print_json
from tunewright.cli.show import configuration_text
from tunewright.records import Store, StoredBest

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--kernel", required=True, metavar="NAME", help="name of the kernel")
    parser.add_argument("--device", metavar="NAME", help="name of the device (default: any)")
    parser.add_argument(
        "--problem", action="append", default=[], metavar="NAME=VALUE", help="a problem size; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON list to standard output")
    add_store_option(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    wanted = assignments(options.problem)
    with Store(options.store) as store:
        everything = store.best(kernel=options.kernel, device=options.device)
    found = [row for row in everything if all(row.task.problem.get(name) == size for name, size in wanted.items())]
    if options.json:
        print_json([_data(row) for row in found])
    for row in found if not options.json else ():
        print("\n".join(_lines(row)))
    if found:
        return 0
    print(f"tunewright: {_nothing(options.kernel, everything)}", file=sys.stderr)
    return 1


def _nothing(kernel: str, everything: list[StoredBest]) -> str:
    """Why there is no answer, and what there is instead: another size's best is not this size's best."""
    if not everything:
        return f"no finished run of kernel {kernel!r} is in the store"
    others = "; ".join(sorted({_sizes(row) for row in everything}))
    return f"kernel {kernel!r} was tuned for other sizes only ({others}); tune it for this one"


def _sizes(row: StoredBest) -> str:
    return " ".join(f"{name}={size}" for name, size in row.task.problem.items()) or "no sizes"


def _lines(row: StoredBest) -> list[str]:
    speedup = "" if row.speedup is None else f", {row.speedup:.2f} x default"
    return [
        f"{row.task.kernel} {_sizes(row)} on {row.task.device}, {row.task.toolchain}",
        f"  {configuration_text(row.configuration)}",
        f"  {row.cost:.4g} ({row.objective.metric}{speedup}), run {row.run}",
    ]


def _data(row: StoredBest) -> dict[str, object]:
    return {
        "kernel": row.task.kernel,
        "device": row.task.device,
        "problem": dict(row.task.problem),
        "toolchain": row.task.toolchain,
        "source_digest": row.task.source_digest,
        "configuration": dict(row.configuration),
        "cost": row.cost,
        "objective": row.objective.metric,
        "speedup": row.speedup,
        "run": row.run,
    }
