"""Find the fastest configuration of a kernel: compile, verify, time, and decide between the leaders."""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stdout

from tunewright.budget import Budget
from tunewright.cli.options import (
    add_deadline_option,
    add_search_options,
    add_store_option,
    assignments,
    naming,
    pins,
    print_json,
    whole_number,
)
from tunewright.cli.progress import Progress
from tunewright.cli.show import run_data, run_text
from tunewright.errors import RecordError
from tunewright.kernel import read_kernel, with_problem
from tunewright.measure import Stopped
from tunewright.records import Store
from tunewright.tune import DEFAULT_EVALUATIONS, DEFAULT_OPTIMIZER, tune

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("spec", metavar="SPEC", help="kernel specification (.toml), or a T1 file (.json)")
    add_search_options(parser, DEFAULT_OPTIMIZER)
    parser.add_argument(
        "--fix", action="append", default=[], metavar="NAME=VALUE", help="pin a parameter; may be repeated"
    )
    parser.add_argument(
        "--problem",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another problem size; may be repeated",
    )
    add_deadline_option(parser)
    add_store_option(parser)
    parser.add_argument("--no-store", action="store_true", help="look nothing up and keep nothing")
    parser.add_argument(
        "--jobs",
        type=whole_number,
        metavar="N",
        help="compilers at the same time (default: one for each core)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    with naming(options.spec):
        return _tune(options)


def _tune(options: argparse.Namespace) -> int:
    kernel = with_problem(read_kernel(options.spec), assignments(options.problem))
    evaluations = options.evaluations
    if evaluations is None and options.seconds is None:
        evaluations = DEFAULT_EVALUATIONS
    fix = pins(options.fix, kernel.parameters)
    space = kernel.space.fix(**fix) if fix else kernel.space
    unit = "ms" if kernel.objective.metric == "runtime_ms" else kernel.objective.metric
    sign = 1 if kernel.objective.goal == "min" else -1
    with (
        _store(options) as store,
        redirect_stdout(sys.stderr),  # what an optimizer prints does not belong between the results
        Progress(Budget(evaluations, options.seconds), space.size, unit, sign) as progress,
    ):
        result = tune(
            kernel,
            optimizer=options.optimizer,
            evaluations=evaluations,
            seconds=options.seconds,
            deadline_s=options.deadline,
            seed=options.seed,
            fix=fix,
            jobs=options.jobs,
            options=assignments(options.option),
            on_trial=progress.trial,
            store=store,
        )
    if options.json:
        print_json(run_data(result, space, unit, sign, kernel.metrics))
    else:
        print("\n".join(run_text(result, space, unit, sign, kernel.metrics)))
    if result.stopped is Stopped.INTERRUPTED:
        return 3 if result.failure else 130
    if result.failure:
        return 4
    return 1 if result.best is None else 0


def _store(options: argparse.Namespace) -> AbstractContextManager[Store | None]:
    """The store to use. A default one that cannot be opened is said so and done without."""
    if options.no_store:
        return nullcontext()
    try:
        return Store(options.store)
    except RecordError as error:
        if options.store is not None:
            raise
        print(f"tunewright: {error}; going on without", file=sys.stderr)
        return nullcontext()
