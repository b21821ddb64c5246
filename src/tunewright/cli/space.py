"""Count and describe a search space: a specification, a T1 file or a recorded cache."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tunewright.cli.load import load_space
from tunewright.cli.options import print_json
from tunewright.space import SearchSpace

__all__ = ["add_arguments", "run"]

_SHOWN_VALUES = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("file", metavar="SPEC|T1|RECORDING", help="specification, T1 file or recorded cache")
    parser.add_argument("--json", action="store_true", help="print one JSON object to standard output")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    space = load_space(options.file)
    if options.json:
        print_json(
            {
                "cartesian": space.cartesian,
                "valid": space.size,
                "groups": [
                    {"parameters": list(group.names), "cartesian": group.cartesian, "valid": group.size}
                    for group in space.groups
                ],
                "parameters": {name: list(values) for name, values in space.parameters.items()},
                "constraints": [constraint.text for constraint in space.constraints],
                "notes": list(space.notes),
                "digest": space.digest,
            }
        )
        return 0
    _show(space, Console(highlight=False, soft_wrap=True))
    return 0


def _show(space: SearchSpace, console: Console) -> None:
    console.print(f"{space.size:,} valid of {space.cartesian:,} configurations")
    table = Table("parameter", "values", "group", box=None, padding=(0, 2, 0, 0))
    group_of = {name: k for k, group in enumerate(space.groups, 1) for name in group.names}
    for name, values in space.parameters.items():
        shown = ", ".join(map(str, values[:_SHOWN_VALUES]))
        rest = f", ... ({len(values)} values)" if len(values) > _SHOWN_VALUES else ""
        table.add_row(name, escape(shown + rest), str(group_of[name]))
    console.print(table)
    for constraint in space.constraints:
        console.print(f"constraint  {escape(constraint.text)}")
    for note in space.notes:
        console.print(f"note  {escape(note)}")
