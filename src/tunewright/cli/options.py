"""Option values and how they are read, each with its allowed range in the error."""

from __future__ import annotations

import argparse
import ast
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tunewright.errors import OptionError, SpaceError, SpecificationError

__all__ = [
    "add_deadline_option",
    "add_search_options",
    "add_store_option",
    "assignments",
    "naming",
    "pins",
    "positive_number",
    "print_json",
    "whole_number",
]


def whole_number(text: str) -> int:
    """A whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return number


def positive_number(text: str) -> float:
    """A finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a finite number above 0, not {text!r}")
    return number


def assignments(texts: Iterable[str]) -> dict[str, Any]:
    """``NAME=VALUE`` texts as a mapping; values are numbers, true or false, or else texts.

    Raises:
        OptionError: a text without ``=``, or a name given twice.

    >>> assignments(["TILE=16", "ORDER=ikj", "FAST=true"])
    {'TILE': 16, 'ORDER': 'ikj', 'FAST': True}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise OptionError(f"expected NAME=VALUE, got {text!r}")
        if name in found:
            raise OptionError(f"{name} is given twice")
        found[name] = _value(value)
    return found


def pins(texts: Iterable[str], parameters: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """``NAME=VALUE`` texts as values of parameters: a text is the value that is written like it.

    Raises:
        OptionError: as for `assignments`.

    >>> pins(["S=1", "T=1"], {"S": ["1", "2"], "T": [1, 2]})
    {'S': '1', 'T': 1}
    """
    found = assignments(texts)
    for text in texts:
        name, _, value = text.partition("=")
        written = [each for each in parameters.get(name, ()) if str(each) == value]
        if written:
            found[name] = written[0]
    return found


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Errors about a specification name its file, wherever they come from."""
    try:
        yield
    except SpecificationError as error:
        if error.file is not None:
            raise
        raise SpecificationError(error.message, file=file, key=error.key) from error
    except SpaceError as error:
        if file in str(error):
            raise
        raise type(error)(f"{file}: {error}") from error


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float) else text


def add_search_options(parser: argparse.ArgumentParser, optimizer: str) -> None:
    """The options that every search has."""
    parser.add_argument(
        "--evaluations", type=whole_number, metavar="N", help="distinct configurations to evaluate at most"
    )
    parser.add_argument(
        "--seconds",
        type=positive_number,
        metavar="S",
        help="seconds on the tuning clock at most (compile + verify + benchmark)",
    )
    parser.add_argument(
        "--optimizer",
        default=optimizer,
        metavar="NAME",
        help="name, or path.py:function (default: %(default)s)",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a hyper-parameter of the optimizer; may be repeated",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the search (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object to standard output")


def add_deadline_option(parser: argparse.ArgumentParser) -> None:
    """When a command that measures has to end."""
    parser.add_argument(
        "--deadline",
        type=positive_number,
        metavar="S",
        help="wall seconds after which nothing new begins; what was measured until then is the result",
    )


def add_store_option(parser: argparse.ArgumentParser) -> None:
    """Where results are kept."""
    parser.add_argument(
        "--store",
        metavar="FILE",
        help="the file that keeps results (default: TUNEWRIGHT_STORE, else tunewright/store.sqlite in the user's "
        "data folder)",
    )


def print_json(data: Any) -> None:
    """Strict JSON: numbers that JSON cannot hold are refused rather than written as NaN."""
    print(json.dumps(data, indent=2, allow_nan=False))
