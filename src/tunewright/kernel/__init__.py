"""Kernel specifications: the dataclasses, and reading them from TOML and T1 files."""

from tunewright.kernel.read import LANGUAGES, read_kernel
from tunewright.kernel.spec import (
    DTYPES,
    Argument,
    Init,
    Kernel,
    Measuring,
    Reference,
    Role,
    Use,
    Verification,
    with_problem,
)
from tunewright.kernel.starter import starter

__all__ = [
    "DTYPES",
    "LANGUAGES",
    "Argument",
    "Init",
    "Kernel",
    "Measuring",
    "Reference",
    "Role",
    "Use",
    "Verification",
    "read_kernel",
    "starter",
    "with_problem",
]
