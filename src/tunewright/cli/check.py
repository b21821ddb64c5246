"""Look a recording over: format, rows, objective, what had to be repaired, what looks wrong.

Exit codes: 0 nothing to report; 1 repairs or suspicions; 2 the file cannot be read.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tunewright.cli.load import add_hint_options, read_hinted
from tunewright.cli.options import print_json
from tunewright.measure import Measurement, Status
from tunewright.records import PartialRecord, format_of, inspect_against, repairs, suspicions, unit_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("file", metavar="FILE", help="a recording of any format")
    parser.add_argument("--json", action="store_true", help="print one JSON object to standard output")
    parser.add_argument(
        "--against", metavar="OTHER", help="a recording of the same kernel whose times should be of the same size"
    )
    add_hint_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    record = read_hinted(options.file, options)
    if options.against is not None:
        other = read_hinted(options.against, options)
        record = replace(record, notes=(*record.notes, *inspect_against(record, other)))
    known = {
        *(f"repaired: {text}" for text in repairs(record)),
        *(f"suspicious: {text}" for text in suspicions(record)),
    }
    data = {
        "file": options.file,
        "format": format_of(options.file),
        "task": record.task.label,
        "rows": len(record.rows),
        "valid": record.space.size,
        "complete": not isinstance(record, PartialRecord),
        "statuses": {status.value: count for status, count in _statuses(record.rows.values())},
        "objective": record.objective.metric,
        "unit": unit_of(record.objective.metric),
        "goal": record.objective.goal,
        "repairs": list(repairs(record)),
        "suspicions": list(suspicions(record)),
        "remarks": [note.removeprefix("remark: ") for note in record.notes if note not in known],
    }
    if options.json:
        print_json(data)
    else:
        _show(data)
    return 1 if data["repairs"] or data["suspicions"] else 0


def _statuses(rows: Iterable[Measurement]) -> list[tuple[Status, int]]:
    return Counter(measurement.status for measurement in rows).most_common()


def _show(data: dict[str, Any]) -> None:
    print(f"{data['file']}: {data['format']}, {data['task']}")
    of = "" if data["complete"] else f" of {data['valid']:,} valid configurations"
    statuses = ", ".join(f"{name} {count:,}" for name, count in data["statuses"].items())
    print(f"rows        {data['rows']:,}{of}: {statuses}")
    which = "less is better" if data["goal"] == "min" else "more is better"
    print(f"objective   {data['objective']} ({data['unit'] or 'unit not known'}; {which})")
    for title, key in (("repaired", "repairs"), ("suspicious", "suspicions"), ("remark", "remarks")):
        for text in data[key]:
            print(f"{title:10}  {text}")
    if not data["repairs"] and not data["suspicions"]:
        print("nothing to repair, nothing suspicious")
