"""Record a kernel's whole space, or a sample of it, alone on the machine, into a file that replays."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tunewright.cli.options import add_deadline_option, add_store_option, assignments, whole_number
from tunewright.errors import OptionError
from tunewright.kernel import read_kernel, with_problem
from tunewright.record import Progress, record
from tunewright.records import PartialRecord, Store

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("spec", metavar="SPEC", help="kernel specification (.toml)")
    parser.add_argument(
        "--sample", type=whole_number, metavar="N", help="only N configurations: a space-filling sample and the "
        "neighbourhood of its best (default: all)",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE", help="where to write (default: the specification's name with .npz)")
    parser.add_argument("--fix", action="append", default=[], metavar="NAME=VALUE", help="pin a parameter")
    parser.add_argument("--problem", action="append", default=[], metavar="NAME=VALUE", help="another problem size")
    parser.add_argument(
        "--patience",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds to wait for a quiet machine before each measurement (default: 60)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of order and sample (default: 0)")
    parser.add_argument("--jobs", type=whole_number, metavar="N", help="compilers at the same time")
    add_deadline_option(parser)
    add_store_option(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    kernel = with_problem(read_kernel(options.spec), assignments(options.problem))
    out = Path(options.out) if options.out else Path(options.spec).with_suffix(".npz")
    if out.exists():
        raise OptionError(f"{out} exists already; name another file with --out")
    try:
        with Store(options.store) as store:
            result = record(
                kernel,
                out,
                store,
                sample=options.sample,
                seed=options.seed,
                fix=assignments(options.fix),
                jobs=options.jobs,
                patience_s=options.patience,
                deadline_s=options.deadline,
                on_progress=_tell,
            )
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on where it was", file=sys.stderr)
        return 130
    what = "partial record" if isinstance(result, PartialRecord) else "recorded space"
    print(f"wrote {out}: {what} of {len(result.rows)} configurations of {result.task.label}")
    for note in result.notes:
        print(f"note: {note}")
    return 0


def _tell(progress: Progress) -> None:
    waited = f", waited {progress.waited_s:.0f} s for a quiet machine" if progress.waited_s else ""
    line = f"{progress.done}/{progress.total}  best {progress.best_ms:.4g} ms  {progress.failures} failed{waited}"
    if sys.stderr.isatty():
        print(f"\r{line}  ", end="", file=sys.stderr)
    elif progress.done % 50 == 0 or progress.done == progress.total:
        print(line, file=sys.stderr)
