"""A first specification for a kernel, written from what its source shows."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from tunewright.errors import SpecificationError
from tunewright.kernel.spec import DTYPES

__all__ = ["starter"]

_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_GUARDED = re.compile(
    r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)[^\n]*\n[ \t]*#[ \t]*define[ \t]+\1[ \t]+([^\n]+?)[ \t]*$", re.MULTILINE
)
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*$", re.MULTILINE)
_FUNCTION = re.compile(r"^[ \t]*(?:extern\s+\"C\"\s+)?void\s+(\w+)\s*\(([^)]*)\)\s*\{", re.MULTILINE)
_MACRO = re.compile(r"\b[A-Z][A-Z0-9_]*[A-Z0-9]\b|\b[A-Z]\b")
_SYSTEM = re.compile(
    r"^(?:NULL|INFINITY|NAN|EOF|[A-Z]+_MAX|[A-Z]+_MIN|[A-Z]+_EPSILON|INT\d*_C|UINT\d*_C|M_\w+|SIZE_MAX|CHAR_BIT|RAND_MAX)$"
)
_SIZES = re.compile(r"^(?:N|M|K|L|NX|NY|NZ|NI|NJ|NK|W|H|D|WIDTH|HEIGHT|DEPTH|ROWS|COLS|SIZE|LENGTH|N_?\w*)$")
_C_NAMES = {c_name: dtype for dtype, c_name in DTYPES.items()} | {
    "char": "int8",
    "unsigned": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "size_t": "uint64",
    **{f"{kind}_t": kind for kind in DTYPES if "int" in kind},
}


def starter(source: str | Path, folder: str | Path | None = None) -> str:
    """The text of a TOML specification for a C or C++ source, to be completed by hand.

    Macros that the source guards with ``#ifndef`` become parameters around their default; macros that it uses
    without defining them become parameters too, or problem sizes where their name says so.

    Args:
        source: the kernel's source file.
        folder: where the specification will stand; None: beside the source.

    Raises:
        SpecificationError: the file cannot be read or holds no ``void`` function.
    """
    file = Path(source)
    try:
        code = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SpecificationError(f"cannot be read: {error.strerror or error}", file=file) from error
    bare = _COMMENTS.sub(" ", code)
    guarded = dict(_GUARDED.findall(bare))
    plain = _INCLUDE.sub("", bare)
    functions = _FUNCTION.findall(plain)
    if not functions:
        raise SpecificationError("holds no function that returns void; a kernel's entry does", file=file)
    entry, arguments = functions[-1]
    defined = set(_DEFINED.findall(plain))
    free = [
        name
        for name in dict.fromkeys(_MACRO.findall(plain))
        if name not in defined and name not in guarded and not _SYSTEM.match(name)
    ]
    argument_names = {_argument_name(text) for text in arguments.split(",")}
    sizes = {name: guarded.get(name, "1024") for name in [*guarded, *free] if _SIZES.match(name)}
    parameters = {name: _values(guarded.get(name, "")) for name in [*guarded, *free] if name not in sizes}
    parameters = {name: text for name, text in parameters.items() if name not in argument_names}
    language = "c++" if file.suffix in (".cc", ".cpp", ".cxx", ".C", ".hpp") else "c"
    return "\n".join(
        [
            f"# tunewright specification for {file.name}; complete the lines marked TODO.",
            "",
            "[kernel]",
            f'name = "{file.stem}"',
            f'language = "{language}"',
            f"source = {json.dumps(_seen_from(file, folder), ensure_ascii=False)}",
            f'entry = "{entry}"',
            'flags = ["-O3", "-march=native"]' + ("  # add -fopenmp for OpenMP" if "omp" not in code else ""),
            "",
            "[problem]  # sizes: macros for the compiler and names for the expressions below",
            *(f"{name} = {_number(text)}" for name, text in sizes.items()),
            "",
            *_argument_lines(arguments, next(iter(sizes), None)),
            "[parameters]  # TODO: check the values",
            *(f"{name} = [{text}]" for name, text in parameters.items()),
            "" if parameters else "UNROLL = [1, 2, 4]  # TODO: no macro found; name what can be tuned",
            "[default]  # what a good programmer would write first; always measured",
            *(f"{name} = {guarded[name]}" for name in parameters if _is_number(guarded.get(name, ""))),
            "",
            "[constraints]",
            'rules = []  # such as "TILE_X * TILE_Y <= 1024"',
            "",
            "[verification]  # TODO: a plain implementation; without one the default's output is expected",
            f'# reference = {{ source = "{file.stem}_reference.c", entry = "{entry}_reference" }}',
            "",
        ]
    )


def _seen_from(file: Path, folder: str | Path | None) -> str:
    """The source's path as the specification names it."""
    return file.name if folder is None else os.path.relpath(file.resolve(), Path(folder).resolve())


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d+)?", text) is not None


def _number(text: str) -> str:
    return text if _is_number(text) else "1024"


def _values(default: str) -> str:
    """Values around a macro's default: switches stay switches, powers of two get their neighbours."""
    if default in ("0", "1"):
        return "0, 1"
    if default.isdigit():
        number = int(default)
        if number & (number - 1) == 0:
            return ", ".join(str(number * 2**step // 4) for step in range(5) if number * 2**step >= 4)
        return ", ".join(dict.fromkeys(str(max(1, value)) for value in (number // 2, number, number * 2)))
    return "1, 2, 4, 8"


def _argument_name(text: str) -> str:
    found = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", text)
    return found[1] if found else ""


def _argument_lines(arguments: str, size: str | None) -> list[str]:
    lines: list[str] = []
    for text in arguments.split(","):
        name = _argument_name(text)
        if not name or text.strip() == "void":
            continue
        pointer = "*" in text or "[" in text
        words = re.sub(r"\b(?:const|restrict|__restrict__|__restrict|volatile|static|signed)\b|[*&]|\[.*\]", " ", text)
        kind = " ".join(words.split()[:-1])
        dtype = _C_NAMES.get(kind)
        todo = "" if dtype else f"  # TODO: the type {kind!r} is not known"
        lines += ["[[arguments]]", f'name = "{name}"', f'dtype = "{dtype or "float32"}"{todo}']
        if pointer:
            constant = re.search(r"\bconst\b", text) is not None
            lines += [
                f'shape = ["{size or "1024"}"]  # TODO: extents' if size else "shape = [1024]  # TODO: extents",
                f'role = "{"in" if constant else "out"}"' + ("" if constant else '  # TODO: or "inout"'),
            ]
        else:
            lines.append(f'value = "{size}"  # TODO' if size else "value = 1024  # TODO")
        lines.append("")
    return lines
