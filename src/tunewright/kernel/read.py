"""Reading a kernel specification: TOML, or a T1 file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tunewright.errors import OptionError, SpecificationError
from tunewright.kernel.section import Section
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
)
from tunewright.kernel.t1 import read_t1_kernel
from tunewright.measure import REDUCTIONS, Objective

__all__ = ["LANGUAGES", "read_kernel"]

LANGUAGES = ("c", "c++", "command", "python")


def read_kernel(path: str | Path) -> Kernel:
    """Read a specification: ``.toml``, or ``.json`` in T1 format.

    Raises:
        SpecificationError: the file cannot be read or a key is wrong; names file and key.
        SpaceError: parameters or constraints are not usable.
    """
    file = Path(path)
    try:
        if file.suffix == ".json":
            return read_t1_kernel(file)
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecificationError(f"cannot be read: {error.strerror or error}", file=file) from error
    except UnicodeDecodeError as error:
        raise SpecificationError("is not UTF-8 text", file=file) from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecificationError(f"is not valid TOML: {error}", file=file) from error
    return _kernel(Section(data, file))


def _kernel(top: Section) -> Kernel:
    head = top.table("kernel")
    parameters, uses = _parameters(top.table("parameters"))
    rules = top.table("constraints")
    constraints = rules.texts("rules")
    rules.finish()
    language = head.choice("language", LANGUAGES, "c")
    try:
        kernel = Kernel(
            name=head.text("name", top.file.stem),
            language=language,
            source=head.existing_file("source") if language != "command" or head.has("source") else top.file.parent,
            entry=head.text("entry") if language != "command" else "",
            command=head.texts("command"),
            flags=head.texts("flags", ("-O3", "-march=native")),
            compiler=head.text("compiler") if head.has("compiler") else None,
            threads=_threads(head),
            problem=_values(top.table("problem")),
            arguments=[_argument(section) for section in top.tables("arguments")],
            parameters=parameters,
            uses=uses,
            constraints=constraints,
            default=_values(top.table("default")),
            metrics=_metrics(top.table("metrics")),
            objective=_objective(top.table("objective")),
            verification=_verification(top.table("verification")),
            measuring=_measuring(top.table("measuring")),
        )
    except SpecificationError as error:
        if error.file is not None:
            raise
        raise SpecificationError(error.message, file=top.file, key=error.key) from None
    head.finish()
    top.finish()
    if not parameters:
        raise top.error("names no parameter; a tuner needs at least one list of values", "parameters")
    return kernel


def _threads(head: Section) -> int | str | None:
    value = head.raw("threads")
    if value is None or (isinstance(value, str) and value):
        return value
    return head.whole("threads", 1, least=1)


def _values(section: Section) -> dict[str, Any]:
    for name, value in section.items():
        if not isinstance(value, int | float | bool | str):
            raise section.error(f"must be a number, true, false or a text, not {value!r}", name)
    return dict(section.items())


def _parameters(section: Section) -> tuple[dict[str, list[Any]], dict[str, Use]]:
    parameters: dict[str, list[Any]] = {}
    uses: dict[str, Use] = {}
    for name, value in section.items():
        if isinstance(value, dict):
            detail = section.table(name)
            value = detail.raw("values")
            define, flag = detail.raw("define"), detail.text("flag") if detail.has("flag") else None
            if define not in (None, False) and not (isinstance(define, str) and define.isidentifier()):
                raise detail.error(f"must be a macro name or false, not {define!r}", "define")
            if define is None:
                define = None if flag else name
            uses[name] = Use(define=define or None, flag=flag)
            detail.finish()
        if not isinstance(value, list):
            raise section.error(f"must be a list of values, or a table with values, not {value!r}", name)
        parameters[name] = value
    return parameters, uses


def _argument(section: Section) -> Argument:
    name = section.text("name")
    dtype = section.choice("dtype", DTYPES)
    if section.has("value"):
        value = section.raw("value")
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise section.error(f"must be a number or an expression, not {value!r}", "value")
        section.finish()
        return Argument(name=name, dtype=dtype, value=value)
    shape = section.raw("shape")
    if isinstance(shape, int | str) and not isinstance(shape, bool):
        shape = [shape]
    if not isinstance(shape, list) or not shape or not all(_is_extent(extent) for extent in shape):
        raise section.error(
            f"an array needs a list of extents (numbers or texts), a scalar needs a value; not {shape!r}",
            "shape",
        )
    if section.has("file") and section.raw("init", "file") != "file":
        raise section.error("gives a file, but init is not 'file'", "init")
    if section.raw("role") == "out" and section.has("init"):
        raise section.error("an out array is not initialised; leave init away, or make it inout", "init")
    role = Role(section.choice("role", [role.value for role in Role], "in"))
    init = Init(section.choice("init", [init.value for init in Init], "file" if section.has("file") else "random"))
    argument = Argument(
        name=name,
        dtype=dtype,
        shape=tuple(shape),
        role=role,
        init=init,
        fill=section.number("fill", 0.0),
        seed=section.whole("seed", 0) if section.has("seed") else None,
        file=section.existing_file("file") if init is Init.FILE else None,
    )
    section.finish()
    return argument


def _is_extent(extent: object) -> bool:
    return isinstance(extent, int | str) and not isinstance(extent, bool)


def _metrics(section: Section) -> dict[str, str]:
    return {name: section.text(name) for name, _ in section.items()}


def _objective(section: Section) -> Objective:
    objective = Objective(
        metric=section.text("metric", "runtime_ms"),
        reduction=section.choice("reduction", REDUCTIONS, "median"),
        goal=section.choice("goal", ("min", "max"), "min"),
    )
    section.finish()
    return objective


def _verification(section: Section) -> Verification:
    reference = None
    if section.has("reference"):
        plain = section.table("reference")
        reference = Reference(
            source=plain.existing_file("source"),
            entry=plain.text("entry"),
            flags=plain.texts("flags", ("-O2",)),
        )
        plain.finish()
    files = section.table("files")
    verification = Verification(
        reference=reference,
        files={name: files.existing_file(name) for name, _ in files.items()},
        rtol=section.number("rtol", 0, least=0) if section.has("rtol") else None,
        atol=section.number("atol", 0, least=0) if section.has("atol") else None,
        skip=section.truth("skip", False),
    )
    section.finish()
    return verification


def _measuring(section: Section) -> Measuring:
    plain = Measuring()
    try:
        measuring = Measuring(
            warmup=section.whole("warmup", plain.warmup),
            samples_min=section.whole("samples_min", plain.samples_min, least=1),
            samples_max=section.whole("samples_max", plain.samples_max, least=1),
            sampling_s=section.number("sampling_s", plain.sampling_s, above=0),
            precision=section.number("precision", plain.precision, least=0),
            slow_factor=section.number("slow_factor", plain.slow_factor, least=0),
            timeout_s=section.number("timeout_s", plain.timeout_s, above=0),
            compile_timeout_s=section.number("compile_timeout_s", plain.compile_timeout_s, above=0),
            memory_mib=section.whole("memory_mib", plain.memory_mib, least=1),
            output_kib=section.whole("output_kib", plain.output_kib, least=1),
            leaders=section.raw("leaders", plain.leaders),
            rounds=section.whole("rounds", plain.rounds, least=6),
        )
    except OptionError as error:
        raise section.error(str(error)) from error
    section.finish()
    return measuring
