"""Write a first specification for a C or C++ kernel, from the macros and arguments that its source shows."""

from __future__ import annotations

import argparse
from pathlib import Path

from tunewright.errors import OptionError
from tunewright.kernel import starter

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("source", metavar="KERNEL.c", help="the kernel's source file")
    parser.add_argument("--out", metavar="FILE", help="where to write (default: the source's name with .toml)")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    source = Path(options.source)
    out = Path(options.out) if options.out else source.parent / f"{source.stem}.toml"
    text = starter(source, out.parent)
    if out.exists():
        raise OptionError(f"{out} exists already; name another file with --out")
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"cannot write {out}: {error.strerror}; name another file with --out") from error
    print(f"wrote {out}; complete the lines marked TODO, then: tunewright tune {out}")
    return 0
