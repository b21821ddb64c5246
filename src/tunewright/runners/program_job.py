"""The job that runs a command or a Python function, and leaves its answer in a file.

Standard library only: the keeper process imports this module.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import site
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["prepare", "run"]


@functools.cache
def _function(file: str, name: str) -> Callable[..., Any]:
    """Import the user's file, with the packages that this Python has."""
    site.main()
    sys.path.insert(0, str(Path(file).parent))
    spec = importlib.util.spec_from_file_location("tuned", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules["tuned"] = module
    spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(module, name)
    return function


def prepare(arguments: Mapping[str, object]) -> None:
    """Import the function once for all children; in the keeper."""
    if "file" in arguments:
        _function(str(arguments["file"]), str(arguments["function"]))


def run(arguments: Mapping[str, Any], fds: Sequence[int]) -> None:
    """Run in a child of the keeper; the answer goes to the only descriptor.

    Args:
        arguments: ``command`` and ``folder``; or ``file``, ``function``, ``values``, ``warmup`` and ``samples``.
        fds: where the answer goes.
    """
    if "command" in arguments:
        os.chdir(arguments["folder"])
        os.dup2(fds[0], 1)
        os.execvp(arguments["command"][0], arguments["command"])  # noqa: S606 - no shell unless the user names one
    answer = _call(arguments)
    os.write(fds[0], json.dumps(answer, default=_plain).encode())


def _call(arguments: Mapping[str, Any]) -> object:
    """What the function returns; its wall times if that is nothing."""
    function = _function(str(arguments["file"]), str(arguments["function"]))
    values = arguments["values"]
    answer = function(**values)
    if answer is not None:
        return answer
    for _ in range(int(arguments["warmup"]) - 1):
        function(**values)
    samples = []
    for _ in range(int(arguments["samples"])):
        start = time.perf_counter()
        function(**values)
        samples.append((time.perf_counter() - start) * 1e3)
    return samples


def _plain(value: Any) -> object:
    """A numpy scalar or array as plain numbers."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
