"""What can be scored: our optimizers by name, anyone's by file, other tuners' search methods."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from tunewright.bench.foreign import FOREIGN, version
from tunewright.errors import OptionError
from tunewright.optimizers import names
from tunewright.version import __version__

__all__ = ["Contestant", "contestant"]

_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Contestant:
    """Something to be scored.

    Attributes:
        label: as tables show it.
        kind: ``tunewright``, or one of `tunewright.bench.foreign.FOREIGN`.
        target: an optimizer's name or file, or the foreign tuner's method.
        options: hyper-parameters.
        code: identity of its text, as far as it is known; results of other texts are not reused.
    """

    label: str
    kind: str
    target: str
    options: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""


def contestant(text: str, options: Mapping[str, Any] | None = None) -> Contestant:
    """A contestant from its description: ``NAME``, ``FILE.py``, ``FILE.py:FUNCTION`` or ``TUNER:METHOD``.

    Hyper-parameters follow after commas: ``genetic,population=40,mutation=0.5``. No code is run or imported.

    Raises:
        OptionError: no such optimizer or file, a foreign tuner that is not installed.

    >>> contestant("genetic,population=40").options
    {'population': 40}
    """
    target, *pairs = text.split(",")
    given = {**_options(text, pairs), **(options or {})}
    label = target + "".join(f",{name}={value}" for name, value in given.items())
    prefix, _, method = target.partition(":")
    if prefix in FOREIGN:
        if not method:
            raise OptionError(f"{text!r}: name a method after {prefix}:")
        return Contestant(label, prefix, *_foreign(prefix, method, given))
    if prefix.endswith(".py"):
        file = Path(prefix)
        if not file.is_file():
            raise OptionError(f"optimizer file {prefix!r} does not exist")
        resolved = f"{file.resolve()}:{method}" if method else str(file.resolve())
        return Contestant(label, "tunewright", resolved, given, _digest([file.read_bytes(), *_protocol()]))
    if target not in names():
        raise OptionError(f"unknown optimizer {target!r}; built in are {', '.join(names())}; or give a file")
    sources = [path.read_bytes() for path in sorted(_imports(_PACKAGE / "optimizers" / f"{target}.py"))]
    return Contestant(label, "tunewright", target, given, _digest([*sources, *_protocol()]))


def _foreign(kind: str, method: str, options: Mapping[str, Any]) -> tuple[str, Mapping[str, Any], str]:
    """Target, options and identity: of the package, of the bridge, and of a file that holds the method."""
    parts = [version(kind).encode(), *(path.read_bytes() for path in _bridge(kind))]
    path, suffix, name = method.partition(".py")
    if suffix:
        file = Path(path + suffix)
        if not file.is_file():
            raise OptionError(f"optimizer file {str(file)!r} does not exist")
        method = f"{file.resolve()}{name}"
        parts.append(file.read_bytes())
    return method, options, _digest(parts)


def _bridge(kind: str) -> list[Path]:
    here = Path(__file__).parent
    return [here / f"{name}.py" for name in ("foreign", "simulate", kind)]


def _options(text: str, pairs: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise OptionError(f"{text!r}: expected NAME=VALUE after a comma, got {pair!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _digest(parts: list[bytes]) -> str:
    digest = sha256(__version__.encode())
    for part in parts:
        digest.update(sha256(part).digest())
    return digest.hexdigest()


def _protocol() -> list[bytes]:
    """The texts that decide how an optimizer is run, beside its own."""
    files = [
        _PACKAGE / "plan.py",
        *sorted((_PACKAGE / "space").glob("*.py")),
        *sorted(Path(__file__).parent.glob("cell*.py")),
    ]
    return [file.read_bytes() for file in files]


def _imports(path: Path, seen: set[Path] | None = None) -> set[Path]:
    """An optimizer's file and those of the optimizers package that it needs."""
    seen = set() if seen is None else seen
    if path in seen:
        return seen
    seen.add(path)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
        elif isinstance(node, ast.Import):
            modules = [name.name for name in node.names]
        for module in modules:
            if module.startswith("tunewright.optimizers."):
                file = _PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
                if file.is_file():
                    _imports(file, seen)
    return seen
