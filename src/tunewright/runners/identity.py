"""What a measurement of a kernel depends on, the configuration left out."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from tunewright.budget import NEVER, Deadline
from tunewright.errors import SpecificationError
from tunewright.kernel.spec import Argument, Kernel
from tunewright.runners.placement import PLACEMENT, runs_threads
from tunewright.runners.toolchain import ENVIRONMENT
from tunewright.runners.worker import clean_environment

__all__ = ["METHOD", "measuring_settings", "source_digest"]

METHOD = 2
"""Version of the way of measuring; a change makes stored values of other versions not comparable."""

_ONLY_AT_THE_END = {"leaders", "rounds"}
_INCLUDES_S = 20
_NO_MATTER = {"PATH", "LANG", "TZ", "TMPDIR", "HOME", "CCACHE_DIR"}
"""Variables that reach compiler or kernel and change nothing that is measured."""


def source_digest(kernel: Kernel, command: Sequence[str], deadline: Deadline = NEVER) -> str:
    """sha256 over the kernel's source and the files of its own that it includes.

    Included files are those that the compiler lists for the default configuration, system headers left out; where it
    lists none, the source alone counts.

    Args:
        kernel: whose source.
        command: the compiler's whole command for the default configuration.
        deadline: until when the compiler is asked.

    Raises:
        DeadlineError: it did not answer in time.
        SpecificationError: the source cannot be read.
    """
    digest = sha256()
    for file in [kernel.source, *_included(kernel, command, deadline)]:
        try:
            digest.update(sha256(file.read_bytes()).digest())
        except OSError as error:
            raise SpecificationError(f"cannot read {str(file)!r}: {error.strerror}", key="source") from error
    return digest.hexdigest()


def _included(kernel: Kernel, command: Sequence[str], deadline: Deadline) -> list[Path]:
    """What the compiler says the source includes, system headers left out; nothing where it does not compile."""
    folder = kernel.source.resolve().parent
    output = command.index("-o")
    plain = [part for part in (*command[:output], *command[output + 2 :]) if part != "-shared" and part[:2] != "-l"]
    try:
        asked = subprocess.run(
            [*plain, "-MM"],
            cwd=folder,
            env=clean_environment(ENVIRONMENT),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=min(_INCLUDES_S, deadline.left_s),
            check=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        deadline.check()
        return []
    listed = asked.stdout.replace("\\\n", " ").partition(":")[2]
    names = [name.replace("\\ ", " ") for name in re.split(r"(?<!\\)\s+", listed.strip()) if name]
    files = {(folder / name).resolve() for name in names} - {kernel.source.resolve()}
    return sorted(file for file in files if file.is_file())


def measuring_settings(
    kernel: Kernel, compiler: Sequence[str], cores: int, default: Mapping[str, object]
) -> dict[str, object]:
    """How a kernel is compiled, called, verified and sampled, as plain data.

    Args:
        kernel: the specification.
        compiler: how the compiler is called.
        cores: that the process may use.
        default: the configuration whose output is the expected one where there is no other.
    """
    verification = kernel.verification
    reference = verification.reference
    measuring = {name: value for name, value in asdict(kernel.measuring).items() if name not in _ONLY_AT_THE_END}
    return {
        "method": METHOD,
        "language": kernel.language,
        "entry": kernel.entry,
        "compiler": list(compiler),
        "flags": list(kernel.flags),
        "uses": {name: [use.define, use.flag] for name, use in kernel.uses.items()},
        "threads": kernel.threads,
        "cores": cores,
        **({"placement": PLACEMENT} if runs_threads(kernel) else {}),
        "environment": {
            name: value
            for name, value in clean_environment(ENVIRONMENT).items()
            if name not in _NO_MATTER and name[:3] != "LC_"
        },
        "arguments": [_argument(argument) for argument in kernel.arguments],
        "verification": {
            "reference": reference and [_file(reference.source), reference.entry, list(reference.flags)],
            "files": {name: _file(path) for name, path in verification.files.items()},
            "default": None if reference or verification.files else dict(default),
            "rtol": verification.rtol,
            "atol": verification.atol,
            "skip": verification.skip,
        },
        "measuring": measuring,
    }


def _argument(argument: Argument) -> Mapping[str, object]:
    return {
        "name": argument.name,
        "dtype": argument.dtype,
        "shape": list(argument.shape),
        "role": argument.role.value,
        "init": argument.init.value,
        "seed": argument.seed,
        "fill": argument.fill,
        "file": argument.file and _file(argument.file),
        "value": argument.value,
    }


def _file(path: Path) -> str:
    """Digest of a file's content; its name where it cannot be read (using it will say why)."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return str(path)
