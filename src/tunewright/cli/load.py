"""Loading a search space or a recording from whatever file describes one."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tunewright.cli.options import assignments
from tunewright.errors import RecordError
from tunewright.kernel import read_kernel
from tunewright.records import PartialRecord, RecordedSpace, read_record
from tunewright.space import SearchSpace, read_t1_space

__all__ = ["add_hint_options", "load_space", "read_hinted"]


def load_space(path: str) -> SearchSpace:
    """The space of a specification (.toml), a T1 file (.json) or a recording of any format.

    Raises:
        TunewrightError: the file cannot be read or is none of these.
    """
    file = Path(path)
    if file.suffix == ".toml":
        return read_kernel(file).space
    if file.suffix == ".json" and _is_t1(file):
        return read_t1_space(file)
    return read_record(file).space


def add_hint_options(parser: argparse.ArgumentParser) -> None:
    """What the user may say about a recording that its file does not say."""
    group = parser.add_argument_group("what the file does not say")
    group.add_argument("--t1", metavar="T1", help="T1 file with the space's constraints; shows which rows are missing")
    group.add_argument(
        "--fix",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the T1 file that the recording leaves out; may be repeated",
    )
    group.add_argument("--parameters", default="", metavar="A,B", help="parameter columns of a CSV file")
    group.add_argument("--objectives", default="", metavar="C,D", help="its objective columns; the first counts")
    group.add_argument("--valid", metavar="E", help="its column that says which rows are valid")
    group.add_argument("--goal", choices=("min", "max"), help="which is better, less or more")


def read_hinted(path: str, options: argparse.Namespace) -> RecordedSpace | PartialRecord:
    """The recording in a file, read with the options of `add_hint_options`.

    Raises:
        RecordError: it cannot be read.
    """
    return read_record(
        path,
        t1=options.t1,
        fix=assignments(options.fix),
        parameters=_names(options.parameters),
        objectives=_names(options.objectives),
        valid=options.valid,
        goal=options.goal,
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _is_t1(file: Path) -> bool:
    """Is it a T1 file? Whatever is no JSON is left to the readers of recordings, which may mend it."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and "ConfigurationSpace" in data
