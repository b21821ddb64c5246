"""Finds a compiler, asks for its version, and writes its commands."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tunewright.budget import NEVER, Deadline
from tunewright.errors import SpecificationError, ToolchainError
from tunewright.kernel.spec import Kernel, Use, Value
from tunewright.runners.worker import clean_environment

__all__ = [
    "ENVIRONMENT",
    "Recipe",
    "Toolchain",
    "find_toolchain",
    "kernel_recipe",
    "library_recipe",
    "macro_text",
]

ENVIRONMENT = frozenset(
    {"HOME", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "CCACHE_DIR"}
)
"""What a compiler may see of the environment beside `clean_environment`."""

_CANDIDATES = {"c": ("CC", ("gcc", "clang", "cc")), "c++": ("CXX", ("g++", "clang++", "c++"))}
_VERSION_S = 20


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler.

    Attributes:
        command: how it is called.
        version: the first line of what it says about itself.
    """

    command: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """A compiler call and the file that it makes; equal calls make the same file."""

    command: tuple[str, ...]
    output: Path


def find_toolchain(kernel: Kernel, deadline: Deadline = NEVER) -> Toolchain:
    """The kernel's compiler: as specified, else from the environment, else from PATH.

    Raises:
        DeadlineError: it did not say its version in time.
        SpecificationError: an unknown language.
        ToolchainError: there is none, or it does not run.
    """
    if kernel.language not in _CANDIDATES:
        raise SpecificationError(
            f"unknown language {kernel.language!r}; choose one of {', '.join(_CANDIDATES)}", key="language"
        )
    variable, names = _CANDIDATES[kernel.language]
    chosen = kernel.compiler or os.environ.get(variable, "").strip()
    if chosen:
        origin = "compiler" if kernel.compiler else variable
        return _asked(_split(chosen, origin), f"{origin} = {chosen!r}", deadline)
    for name in names:
        if shutil.which(name):
            return _asked((name,), name, deadline)
    raise ToolchainError(
        f"no compiler for {kernel.language} found: looked for {', '.join(names)} on PATH; install one "
        f"(on Debian and Ubuntu: apt install {names[0]}), or set {variable} or the kernel's compiler"
    )


def _split(text: str, origin: str) -> tuple[str, ...]:
    """The words of a command."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ToolchainError(f"{origin} = {text!r} is no command: {error}") from error
    if not words:
        raise ToolchainError(f"{origin} = {text!r} names no command")
    return words


def _asked(command: tuple[str, ...], origin: str, deadline: Deadline) -> Toolchain:
    """Ask a compiler for its version."""
    if "/" in command[0]:  # it will be called from another folder
        command = (str(Path(command[0]).absolute()), *command[1:])
    try:
        answer = subprocess.run(
            [*command, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=clean_environment(ENVIRONMENT),
            timeout=min(_VERSION_S, deadline.left_s),
            check=False,
        )
    except FileNotFoundError as error:
        raise ToolchainError(
            f"the compiler {command[0]!r} ({origin}) was not found on PATH; install it or name another"
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        deadline.check()
        raise ToolchainError(f"the compiler {command[0]!r} ({origin}) does not run: {error}") from error
    lines = (answer.stdout or answer.stderr).decode(errors="replace").strip().splitlines()
    if answer.returncode:
        said = lines[0] if lines else "nothing"
        raise ToolchainError(
            f"the compiler {command[0]!r} ({origin}) failed when asked for its version, saying: {said}"
        )
    return Toolchain(command, lines[0] if lines else "unknown")


def macro_text(value: Value) -> str:
    """A value as a macro's text: booleans as 0 and 1, strings as they are."""
    if isinstance(value, bool):
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def kernel_recipe(toolchain: Toolchain, kernel: Kernel, configuration: Mapping[str, Value], folder: Path) -> Recipe:
    """How one configuration is compiled, into a folder."""
    defines = [f"-D{name}={macro_text(value)}" for name, value in kernel.problem.items()]
    flags: list[str] = []
    for name, value in configuration.items():
        use = kernel.uses.get(name, Use(define=name))
        if use.define is not None:
            defines.append(f"-D{use.define}={macro_text(value)}")
        if use.flag is not None:
            flags += _flags(use.flag, value)
    return library_recipe(toolchain, kernel.source, folder, [*kernel.flags, *defines, *flags])


def _flags(pattern: str, value: Value) -> list[str]:
    """The flags for one parameter's value; an empty string stands for no flag."""
    if isinstance(value, bool) and "{}" not in pattern:
        pattern = pattern if value else ""
    text = pattern.replace("{}", macro_text(value))
    try:
        return shlex.split(text)
    except ValueError:  # a quote that is not closed; the compiler will say what it makes of it
        return text.split()


def library_recipe(toolchain: Toolchain, source: Path, folder: Path, options: Sequence[str]) -> Recipe:
    """How a source becomes a shared library; libraries come last in the command, where linkers want them."""
    libraries = [option for option in options if option.startswith("-l")]
    others = [option for option in options if not option.startswith("-l")]
    head = (*toolchain.command, "-shared", "-fPIC", *others, str(source.resolve()))
    name = hashlib.sha256("\0".join((*head, *libraries)).encode()).hexdigest()[:24]
    output = folder / f"{name}.so"
    return Recipe((*head, "-o", str(output), *libraries, "-lm"), output)
