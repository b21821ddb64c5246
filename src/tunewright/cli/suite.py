"""Look suites of recorded spaces over, or write a disguised copy of one."""

from __future__ import annotations

import argparse
from pathlib import Path

from tunewright.bench.baseline import UnscorableError
from tunewright.bench.disguise import disguise
from tunewright.bench.prepared import Prepared, prepare
from tunewright.bench.suite import Entry, Role, Suite, read_suite
from tunewright.cli.options import print_json
from tunewright.errors import RecordError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="read every space, compare checksums, show window and baseline")
    copy = actions.add_parser("disguise", help="write a copy with other names, another order and relabelled values")
    for action in (check, copy):
        action.add_argument("suite", metavar="SUITE", help="a suite's .toml file, or the name of a built-in one")
        action.add_argument("--root", metavar="DIR", help="folder of the recordings (default: as the suite says)")
        action.add_argument("--json", action="store_true", help="print one JSON object to standard output")
    copy.add_argument("folder", metavar="DIR", help="where to write the copy; a new or empty folder")
    copy.add_argument("--seed", type=int, default=0, metavar="N", help="seed of names, orders and factors (default: 0)")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    suite = read_suite(options.suite, options.root)
    if options.action == "disguise":
        entries = tuple(entry for entry in suite.entries if entry.role is not Role.TEST)
        path = disguise(suite, entries, Path(options.folder), options.seed)
        left = len(suite.entries) - len(entries)
        if options.json:
            print_json({"suite": str(path), "spaces": len(entries), "test_spaces_left_out": left})
        else:
            print(f"{path}: {len(entries)} spaces" + (f"; {left} test spaces stay closed" if left else ""))
        return 0
    return _check(suite, as_json=options.json)


def _check(suite: Suite, *, as_json: bool) -> int:
    """Read every space; those of the role test are looked at as files only."""
    rows, bad = [], 0
    for entry in suite.entries:
        try:
            rows.append(_row(entry))
        except RecordError as error:
            bad += 1
            rows.append({"name": entry.name, "role": entry.role.value, "family": entry.family, "problem": str(error)})
    if as_json:
        print_json({"suite": suite.name, "version": suite.version, "root": str(suite.root), "spaces": rows})
        return 2 if bad else 0
    print(f"{suite.name}, version {suite.version}: {len(rows)} spaces in {suite.root}")
    for row in rows:
        print(f"  {row['name']:32} {row['role']:10} {row['family']:14} {_figures(row)}")
        notes = row.get("notes")
        for note in notes if isinstance(notes, list) else ():
            print(f"      {note}")
    if bad:
        print(f"{bad} of {len(rows)} cannot be read; give their folder with --root, or see the problems above")
    return 2 if bad else 0


def _row(entry: Entry) -> dict[str, object]:
    row: dict[str, object] = {"name": entry.name, "role": entry.role.value, "family": entry.family}
    if entry.role is Role.TEST:
        if not entry.file.is_file():
            raise RecordError(f"{entry.file}: is not there")
        return {**row, "closed": True}
    prepared = prepare(entry)
    facts = prepared.facts
    row |= {key: facts[key] for key in ("configurations", "failures", "partial", "raw_samples", "notes")}
    return {**row, "window": _window(prepared)}


def _window(prepared: Prepared) -> dict[str, object]:
    try:
        base = prepared.baseline
    except UnscorableError as error:
        return {"unscorable": str(error)}
    return {
        "goal": base.goal,
        "start_s": base.start_s,
        "end_s": base.end_s,
        "evaluations": base.evaluations,
        "optimum": base.optimum,
        "median": base.median,
        "baseline_error": base.error,
    }


def _figures(row: dict[str, object]) -> str:
    if "problem" in row:
        return f"PROBLEM {row['problem']}"
    if row.get("closed"):
        return "closed (role test)"
    window = row["window"]
    text = f"{row['configurations']:>8,} configurations, {row['failures']:>6,} fail"
    if not isinstance(window, dict) or "unscorable" in window:
        return f"{text}; cannot be scored: {window['unscorable'] if isinstance(window, dict) else ''}"
    raised = "" if window["goal"] == 0.95 else f", goal raised to {window['goal']}"
    return f"{text}; window {window['end_s']:>9,.0f} s, {window['evaluations']:>6,.0f} evaluations{raised}"
