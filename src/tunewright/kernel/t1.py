"""Reading T1 files (the auto-tuning community's JSON description of a kernel and its space)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunewright.errors import SpecificationError
from tunewright.kernel.section import Section
from tunewright.kernel.spec import Argument, Init, Kernel, Role
from tunewright.space import read_t1_space

__all__ = ["read_t1_kernel"]

_DTYPES = {
    "bool": "uint8",
    "half": "float16",
    "float": "float32",
    "double": "float64",
}
_ROLES = {"ReadOnly": Role.IN, "WriteOnly": Role.OUT, "ReadWrite": Role.INOUT}


def read_t1_kernel(file: Path) -> Kernel:
    """A kernel from a T1 file; its language may be one that no runner here measures.

    Raises:
        SpecificationError: the file cannot be read or a key is wrong; names file and key.
        SpaceError: the parameters or conditions are not usable.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecificationError(f"cannot be read: {error.strerror or error}", file=file) from error
    except (ValueError, RecursionError) as error:
        raise SpecificationError(f"is not valid JSON: {error}", file=file) from error
    top = Section(data, file)
    head = top.table("KernelSpecification")
    space = read_t1_space(file)
    sizes = head.raw("ProblemSize", [])
    problem = {
        f"size_{axis}": size for axis, size in zip("xyz", sizes if isinstance(sizes, list) else [sizes], strict=False)
    }
    flags = head.raw("CompilerOptions", [])
    entries = top.table("ConfigurationSpace").tables("TuningParameters")
    default = {entry.text("Name"): _default(entry.raw("Default")) for entry in entries if entry.has("Default")}
    return Kernel(
        name=head.text("BenchmarkName", file.stem),
        language=head.text("Language").lower(),
        source=file.parent / head.text("KernelFile"),
        entry=head.text("KernelName"),
        flags=[str(flag) for flag in flags] if isinstance(flags, list) else [],
        problem=problem,
        arguments=[_argument(section, problem) for section in head.tables("Arguments")],
        parameters=space.parameters,
        constraints=[constraint.text for constraint in space.constraints],
        default={name: value for name, value in default.items() if value in space.parameters[name]},
    )


def _default(value: Any) -> Any:
    """A T1 default is a value, or in some files a list of one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _argument(section: Section, problem: Mapping[str, object]) -> Argument:
    name = section.text("Name", f"argument{section.key}")
    kind = section.text("Type")
    dtype = _DTYPES.get(kind, kind)
    fill = section.raw("FillValue", 0)
    if section.raw("MemoryType") == "Scalar":
        return Argument(name=name, dtype=dtype, value=fill)
    size = section.raw("Size")
    if isinstance(size, str):
        size = re.sub(r"ProblemSize\[(\d)\]", lambda match: "size_" + "xyz"[int(match[1]) % 3], size)
    if not isinstance(size, int | str):
        raise section.error(f"must be a number or an expression, not {size!r}", "Size")
    init = Init.RANDOM if section.raw("FillType", "Random") == "Random" else Init.CONSTANT
    return Argument(
        name=name,
        dtype=dtype,
        shape=(size,),
        role=_ROLES.get(section.raw("AccessType"), Role.INOUT),
        init=init,
        fill=float(fill) if isinstance(fill, int | float) else 0.0,
    )
