"""Convert a recording from any format to any other; what is repaired or looks strange is said."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tunewright.cli.load import add_hint_options, read_hinted
from tunewright.errors import RecordError
from tunewright.records import FORMATS, format_for, write_record

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("source", metavar="IN", help="the recording to read; its format is recognised by content")
    parser.add_argument("target", metavar="OUT", help="the file to write; gzipped if it ends in .gz")
    parser.add_argument(
        "--format",
        choices=[*(each.name for each in FORMATS), "recording"],
        help="format to write (default: by the suffix of OUT: .json, .t4.json, .ktt.json, .csv, .npz)",
    )
    parser.add_argument("--force", action="store_true", help="replace OUT if it exists")
    add_hint_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    chosen = options.format or format_for(options.target)
    record = read_hinted(options.source, options)
    for note in record.notes:
        print(f"tunewright: {options.source}: {note}", file=sys.stderr)
    if not options.force and Path(options.target).exists():
        raise RecordError(f"{options.target}: exists already; nothing was written. --force replaces it")
    write_record(options.target, record, chosen)
    print(f"{options.target}: {len(record.rows):,} rows, {chosen}")
    return 0
