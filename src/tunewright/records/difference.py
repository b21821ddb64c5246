"""What differs between two tasks, field by field: whether an old record may be used for a new request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from tunewright.measure import Task

__all__ = ["difference"]

ABSENT = "absent"


def difference(old: Task, new: Task) -> dict[str, tuple[object, object]]:
    """Fields that differ, as (old, new); those of ``problem`` and ``settings`` one by one, the missing as ``absent``.

    >>> difference(Task("k", "GPU A", toolchain="CUDA 12.4"), Task("k", "GPU A", toolchain="CUDA 13.0"))
    {'toolchain': ('CUDA 12.4', 'CUDA 13.0')}
    """
    found: dict[str, tuple[object, object]] = {}
    for field in fields(Task):
        ours, theirs = getattr(old, field.name), getattr(new, field.name)
        if isinstance(ours, Mapping):
            for key in {**ours, **theirs}:
                pair = ours.get(key, ABSENT), theirs.get(key, ABSENT)
                if pair[0] != pair[1]:
                    found[f"{field.name}.{key}"] = pair
        elif ours != theirs:
            found[field.name] = (ours, theirs)
    return found
