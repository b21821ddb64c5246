"""List what was tuned, and what is being tuned now, the newest run first."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.live import Live
from rich.table import Table

from tunewright.cli.options import add_store_option, positive_number, print_json, whole_number
from tunewright.records import RunRow, Store

__all__ = ["add_arguments", "run"]

_WIDE = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--kernel", metavar="NAME", help="only runs of this kernel")
    parser.add_argument("--last", type=whole_number, default=20, metavar="N", help="how many (default: 20)")
    parser.add_argument("--watch", action="store_true", help="show it again and again until Ctrl-C")
    parser.add_argument(
        "--every", type=positive_number, default=1.0, metavar="S", help="seconds between two looks (default: 1)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON list to standard output")
    add_store_option(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    with Store(options.store) as store:
        if options.json:
            print_json([_data(row) for row in store.runs(kernel=options.kernel)[: options.last]])
        elif options.watch:
            _watch(store, options)
        else:
            console = Console(highlight=False)
            if not console.is_terminal:
                console = Console(highlight=False, width=_WIDE)  # a file or a pipe has no width to fit into
            console.print(_table(store.runs(kernel=options.kernel)[: options.last]))
    return 0


def _watch(store: Store, options: argparse.Namespace) -> None:
    with Live(console=Console(highlight=False), auto_refresh=False) as live:
        while True:
            live.update(_table(store.runs(kernel=options.kernel)[: options.last]), refresh=True)
            time.sleep(options.every)


def _state(row: RunRow) -> str:
    if row.stopped is not None:
        return row.stopped
    return "running" if row.alive else "killed; the same command goes on where it was"


def _data(row: RunRow) -> dict[str, object]:
    return {
        "id": row.id,
        "kernel": row.kernel,
        "device": row.device,
        "problem": dict(row.problem),
        "optimizer": row.optimizer,
        "state": _state(row).partition(";")[0],
        "started": row.started,
        "ended": row.ended,
        "trials": row.trials,
        "failures": row.failures,
        "best_cost": row.best_cost,
        "seconds": row.clock_s,
        "request": dict(row.request),
    }


def _table(rows: Sequence[RunRow]) -> Table:
    table = Table(
        "run", "kernel", "problem", "optimizer", "started", "trials", "failed", "best", "tuning s", "state",
        box=None, padding=(0, 2, 0, 0),
    )  # fmt: skip
    for row in rows:
        evaluations = row.request.get("evaluations")
        table.add_row(
            str(row.id),
            row.kernel,
            " ".join(f"{name}={size}" for name, size in row.problem.items()),
            row.optimizer,
            datetime.fromtimestamp(row.started).isoformat(" ", "seconds"),
            f"{row.trials}/{evaluations}" if evaluations else str(row.trials),
            str(row.failures),
            "" if row.best_cost is None else f"{row.best_cost:.4g}",
            f"{row.clock_s:.1f}",
            _state(row),
        )
    return table
