"""A first specification for a kernel, written from what its source shows."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tunewright.errors import ParameterError, SpecificationError
from tunewright.kernel.glance import Declaration, Glance, find_entry, glance
from tunewright.space import parse_values
from tunewright.space.parameters import check_name

__all__ = ["starter"]

_SIZES = frozenset(
    """
    N M K L W H D F C NX NY NZ NI NJ NK NL NM WIDTH HEIGHT DEPTH ROWS COLS COLUMNS SIZE LENGTH STEPS TSTEPS NSTEPS
    ITERATIONS BATCH CHANNELS IMAGE_WIDTH IMAGE_HEIGHT
    """.split()  # noqa: SIM905 - easier to read than a list
)
_SWITCH = re.compile(r"^(?:USE|ENABLE|DISABLE|WITH|HAS|HAVE|DO|IS|NO|ALLOW)_|_(?:ON|OFF|FIRST|FLAG)$|[^E]ED$|^FAST$")
_NUMBER = re.compile(r"(-?(?:0[xX][0-9a-fA-F]+|[1-9]\d*|0))[uUlL]*|(-?(?:\d+\.\d*|\.?\d+)(?:[eE][-+]?\d+)?)[fFlL]?")
_PLACEHOLDERS = ("UNROLL", "TILE", "VARIANT", "CHOICE")


def starter(source: str | Path, folder: str | Path | None = None) -> str:
    """The text of a TOML specification for a C or C++ source, to be completed by hand.

    Macros that the source guards with ``#ifndef`` become parameters around their default; macros that it uses
    without defining them become parameters too. Those with the name of a size (N, WIDTH, STEPS) that bound loops or
    arrays become problem sizes.

    Args:
        source: the kernel's source file.
        folder: where the specification will stand; None: beside the source.

    Raises:
        SpecificationError: the file cannot be read, holds no ``void`` function that can be called from outside, or one
            with an argument that no specification can describe.
    """
    file = Path(source)
    try:
        code = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SpecificationError(f"cannot be read: {error.strerror or error}", file=file) from error
    entry = find_entry(code, file.stem)
    if entry is None:
        raise SpecificationError(
            "holds no function that returns void and is neither static nor inline; a kernel's entry does", file=file
        )
    for argument in entry.arguments:
        if argument.unfit:
            raise SpecificationError(
                f"argument {argument.name!r} of {entry.name} is {argument.unfit}; arguments are numbers and arrays of "
                "numbers, so give the kernel an entry with flat arrays",
                file=file,
            )
    seen = glance(code)
    taken = {argument.name for argument in entry.arguments}
    names = [name for name in dict.fromkeys([*seen.defaults, *seen.open]) if name not in taken and _is_usable(name)]
    sizes = {name: _size(seen.defaults.get(name)) for name in names if _is_size(name, seen)}
    parameters = {name: seen.defaults.get(name) for name in names if name not in sizes}
    language = "c++" if file.suffix in (".cc", ".cpp", ".cxx", ".c++", ".C", ".hpp") else "c"
    reference = _quoted(f"{file.stem}_reference{file.suffix}")
    lines = [
        f"# tunewright specification for {_quoted(file.name)}; complete the lines marked TODO.",
        "",
        "[kernel]",
        f"name = {_quoted(file.stem)}",
        f'language = "{language}"',
        f"source = {_quoted(_seen_from(file, folder))}",
        f'entry = "{entry.name}"' + _linkage(language, code),
        *_flags(seen, [*sizes, *parameters]),
        "",
        "[problem]  # sizes: macros for the compiler and names for the expressions below",
        *(f"{name} = {size}" + _guess(seen.defaults.get(name)) for name, size in sizes.items()),
        "",
        *(line for argument in entry.arguments for line in _argument(argument, sizes)),
        "[parameters]  # TODO: check the values",
        *(f"{name} = {_values(name, text, name in seen.truths, sizes)}" for name, text in parameters.items()),
        *([] if parameters else [_placeholder(taken | sizes.keys())]),
        *(
            f'# {name} = {{ values = [false, true], flag = "-D{name}" }}  # tested for being defined, no value is read'
            for name in seen.unvalued
        ),
        "",
        "[default]  # what a good programmer would write first; always measured",
        *(f"{name} = {_written(text, sizes)}" for name, text in parameters.items() if text is not None),
        "",
        "[constraints]",
        'rules = []  # such as "TILE_X * TILE_Y <= 1024"',
        "",
        "[verification]  # TODO: a plain implementation; without one the default's output is expected",
        f'# reference = {{ source = {reference}, entry = "{entry.name}_reference" }}',
        "",
    ]
    return "\n".join(lines)


def _seen_from(file: Path, folder: str | Path | None) -> str:
    """The source's path as the specification names it."""
    return file.name if folder is None else os.path.relpath(file.resolve(), Path(folder).resolve())


def _quoted(text: str) -> str:
    """A TOML basic string."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SpecificationError(f"the name {text!r} is not Unicode text, which TOML needs; rename the file") from error
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _linkage(language: str, code: str) -> str:
    return '  # TODO: declare it extern "C"' if language == "c++" and not re.search(r'extern\s*"C"', code) else ""


def _flags(seen: Glance, macros: Sequence[str]) -> list[str]:
    if not seen.openmp:
        return ['flags = ["-O3", "-march=native"]']
    flags = 'flags = ["-O3", "-march=native", "-fopenmp"]'
    if seen.threads in macros:
        return [flags, f'threads = "{seen.threads}"']
    return [flags, "# threads = 4  # TODO: a number or a parameter, as in num_threads(...); without it all cores"]


def _is_usable(name: str) -> bool:
    try:
        return check_name(name) == name
    except ParameterError:
        return False


def _is_size(name: str, seen: Glance) -> bool:
    """Whether a macro is a problem size; one whose default is 0 or 1 is a choice."""
    return name in _SIZES and name in seen.bounds and _number(seen.defaults.get(name, "1024")) not in (0, 1, None)


def _size(default: str | None) -> int | float:
    return (default and _number(default)) or 1024


def _number(text: str) -> int | float | None:
    """The number that a macro's text stands for: a literal, or arithmetic such as ``(64 * 1024)``."""
    found = _NUMBER.fullmatch(text.strip())
    if found and found[1]:
        return int(found[1], 0)
    if found and not re.fullmatch(r"-?\d+", found[2]):
        return float(found[2]) if math.isfinite(float(found[2])) else None
    if not re.fullmatch(r"[\d\s()*+-]+", text) or re.search(r"\b0\d", text):
        return None
    try:
        [number] = parse_values(f"[{text}]")
    except (ParameterError, ValueError):
        return None
    return number if isinstance(number, int) else None


def _value(text: str, sizes: Mapping[str, int | float]) -> int | float | None:
    return sizes[text] if text in sizes else _number(text)


def _written(text: str, sizes: Mapping[str, int | float]) -> str:
    number = _value(text, sizes)
    return _quoted(text) if number is None else repr(number)


def _guess(default: str | None) -> str:
    return "" if default is not None else "  # TODO: has no default"


def _values(name: str, default: str | None, tested: bool, sizes: Mapping[str, int | float]) -> str:
    """A list around a macro's default; a remark where that is a guess."""
    if default is None:
        return ("[0, 1]" if tested or _SWITCH.search(name) else "[1, 2, 4, 8]") + _guess(default)
    switch = tested or _SWITCH.search(name) is not None
    number = _value(default, sizes)
    if number is None or isinstance(number, float) or number < 0:
        return f"[{_written(default, sizes)}]  # TODO: add values"
    if number == 0:
        return "[0, 1]"
    if number == 1:
        return "[0, 1]  # TODO: a switch?" if switch else "[1, 2, 4]"
    if default in sizes:
        values = [number // 4, number // 2, number]
    elif number & (number - 1) == 0:
        values = [number // 4, number // 2, number, number * 2, number * 4]
    else:
        values = [number // 2, number, number * 2]
    return f"[{', '.join(str(value) for value in dict.fromkeys(values) if value > 0)}]"


def _placeholder(taken: set[str]) -> str:
    name = next(name for name in _PLACEHOLDERS if name not in taken)
    return f"{name} = [1, 2, 4]  # TODO: no macro found; name what can be tuned"


def _argument(argument: Declaration, sizes: Mapping[str, int | float]) -> list[str]:
    todo = "" if argument.dtype else f"  # TODO: the type {_quoted(argument.kind)} is not known"
    lines = ["[[arguments]]", f'name = "{argument.name}"', f'dtype = "{argument.dtype or "float32"}"{todo}']
    if argument.extents:
        extents = [_extent(extent, sizes) for extent in argument.extents]
        guess = "" if all(known for _, known in extents) else "  # TODO: extents"
        lines.append(f"shape = [{', '.join(extent for extent, _ in extents)}]{guess}")
        lines.append('role = "in"' if argument.constant else 'role = "out"  # TODO: or "inout"')
    elif argument.name.upper() in sizes:
        lines.append(f'value = "{argument.name.upper()}"')
    elif sizes and argument.dtype not in ("float32", "float64", None):
        lines.append(f'value = "{next(iter(sizes))}"  # TODO')
    else:
        lines.append("value = 1  # TODO")
    return [*lines, ""]


def _extent(extent: str | None, sizes: Mapping[str, int | float]) -> tuple[str, bool]:
    """An extent as the specification writes it, and whether that is what the source says."""
    if extent is not None:
        if re.fullmatch(r"[1-9]\d*", extent):
            return extent, True
        if sizes.keys() >= set(re.findall(r"[A-Za-z_]\w*", extent)) and re.fullmatch(r"[\w\s()*+-]+", extent):
            return _quoted(extent), True
        if extent.upper() in sizes:
            return _quoted(extent.upper()), True
    return (_quoted(next(iter(sizes))) if sizes else "1024"), False
