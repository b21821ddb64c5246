"""The job that makes scored runs, in a child of a keeper process."""

from __future__ import annotations

import functools
import os
import site
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["prepare", "run"]


def prepare(arguments: Mapping[str, Any]) -> None:
    """Import packages and load the space once for all children; in the keeper, so nobody's optimizer."""
    _ready()
    problem = _problem(arguments["folder"], arguments["name"], arguments["conditions"]["published"])
    if arguments["kind"] != "tunewright":
        from tunewright.bench.foreign import method, shared

        shared(arguments["kind"], problem.space)
        if ".py" not in arguments["target"]:
            method(arguments["kind"], arguments["target"])


def run(arguments: Mapping[str, Any], fds: Sequence[int]) -> None:
    """Make the runs of one cell; each goes to the only descriptor as soon as it has ended."""
    _ready()
    from tunewright.bench.runs import pack
    from tunewright.bench.simulate import make_run
    from tunewright.errors import OptimizerError, OptionError

    problem = _problem(arguments["folder"], arguments["name"], arguments["conditions"]["published"])
    try:
        for number in range(arguments["first"], arguments["first"] + arguments["count"]):
            _write(fds[0], b"R", pack([make_run(problem, arguments, number)]))
    except (OptionError, OptimizerError) as error:
        _write(fds[0], b"E", str(error).encode())


@functools.cache
def _ready() -> None:
    """Find the packages that this Python has; linear algebra on one thread."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    site.main()


@functools.cache
def _problem(folder: str, name: str, published: bool) -> Any:
    from tunewright.bench.simulate import Problem

    return Problem.load(folder, name, published=published)


def _write(fd: int, kind: bytes, body: bytes) -> None:
    rest = memoryview(len(body).to_bytes(8, "little") + kind + body)
    while rest:
        rest = rest[os.write(fd, rest) :]
