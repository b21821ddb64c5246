"""Delete runs that ended long ago and measurements that no run uses any more; the file gets smaller."""

from __future__ import annotations

import argparse

from tunewright.cli.options import add_store_option, positive_number
from tunewright.records import Store

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--older-than-days", type=positive_number, default=90.0, metavar="D", help="age of what goes (default: 90)"
    )
    add_store_option(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    with Store(options.store) as store:
        deleted = store.collect(older_than_s=options.older_than_days * 86_400)
    print("deleted " + ", ".join(f"{count} {what}" for what, count in deleted.items()))
    return 0
