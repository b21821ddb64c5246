"""Loading a search space from whatever file describes one."""

from __future__ import annotations

import json
from pathlib import Path

from tunewright.errors import RecordError
from tunewright.kernel import read_kernel
from tunewright.records import read_cache
from tunewright.space import SearchSpace, read_t1_space

__all__ = ["load_space"]


def load_space(path: str) -> SearchSpace:
    """The space of a specification (.toml), a T1 file or a Kernel Tuner cache (.json, .json.gz).

    Raises:
        TunewrightError: the file cannot be read or is none of these.
    """
    file = Path(path)
    if file.suffix == ".toml":
        return read_kernel(file).space
    if file.suffix == ".json" and _is_t1(file):
        return read_t1_space(file)
    return read_cache(file).space


def _is_t1(file: Path) -> bool:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{file}: not valid JSON: {error}") from error
    return isinstance(data, dict) and "ConfigurationSpace" in data
