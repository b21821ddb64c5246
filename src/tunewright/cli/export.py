"""Write an optimizer as one file with a strategy for Kernel Tuner, which needs nothing of tunewright."""

from __future__ import annotations

import argparse
from pathlib import Path

from tunewright.cli.options import assignments
from tunewright.errors import OptionError
from tunewright.export import export_strategy

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("optimizer", metavar="NAME", help="an optimizer's name, or path.py:function")
    parser.add_argument("-o", "--out", metavar="FILE.py", required=True, help="where to write")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="a hyper-parameter; may be repeated"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed of every run (default: drawn from Python's global generator)"
    )
    parser.add_argument("--force", action="store_true", help="write over a file that exists")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    out = Path(options.out)
    text = export_strategy(options.optimizer, assignments(options.option), options.seed)
    if out.exists() and not options.force:
        raise OptionError(f"{out} exists already; name another file with --out, or give --force")
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"cannot write {out}: {error.strerror}; name another file with --out") from error
    print(f"wrote {out}")
    return 0
