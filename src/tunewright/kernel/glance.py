"""What a glance at a C or C++ source shows: the entry, its arguments, and the macros it leaves open.

No parser: comments and strings are taken out, and patterns are tried on the rest. Wrong guesses cost the reader of the
started specification a line to correct, nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Declaration", "Entry", "Glance", "find_entry", "glance"]

_CONTINUED = re.compile(r"\\[ \t]*\n")
_TOKENS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
_DIRECTIVES = re.compile(r"^[ \t]*#[^\n]*$", re.MULTILINE)
_ATTRIBUTES = re.compile(r"\b(?:__attribute__|__declspec|alignas|_Alignas|noexcept|throw)\s*(?=\()|\[\[[^]]*\]\]")
_FUNCTION = re.compile(r"\bvoid\s+(?:\w+\s+)*?(\w+)\s*(?=\()", re.ASCII)
_HELPER = re.compile(r"\b(?:static|inline|template|typedef|__inline__|__inline|friend)\b")

_GUARDED = re.compile(
    r"^[ \t]*#[ \t]*(?:ifndef[ \t]+|if[ \t]*![ \t]*defined[ \t]*\(?[ \t]*)(\w+)[^\n]*\n"
    r"\s*#[ \t]*define[ \t]+\1[ \t]+(\S[^\n]*?)[ \t]*$",
    re.MULTILINE | re.ASCII,
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)(?:\(([^)\n]*)\))?([^\n]*)$", re.MULTILINE | re.ASCII)
_WORDLESS = re.compile(r"^[ \t]*#[ \t]*(?:include|error|warning|line|ident|import)\b[^\n]*$", re.MULTILINE)
_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma\b([^\n]*)$", re.MULTILINE)
_CLAUSE = re.compile(
    r"\b(?:num_threads|schedule|collapse|simdlen|safelen|num_teams|thread_limit|grainsize|num_tasks|unroll|partial|sizes"
    r"|if)\s*\(([^()]*)\)|\bunroll(?:_count)?\s+(\w+)"
)
_OPENMP = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+omp\b|\(\s*\"?omp\s+\w", re.MULTILINE)
_NUM_THREADS = re.compile(r"\bnum_threads\s*\(\s*([A-Za-z_]\w*)\s*\)", re.ASCII)
_WHETHER_DEFINED = re.compile(r"#[ \t]*ifn?def[ \t]+(\w+)|\bdefined[ \t]*\(?[ \t]*(\w+)[ \t]*\)?", re.ASCII)
_TRUTH = re.compile(r"^[ \t]*#[ \t]*(?:el)?if[ \t]+!?[ \t]*\(?(\w+)\)?[ \t]*$", re.MULTILINE | re.ASCII)
_MACRO = re.compile(r"\b[A-Z][A-Z0-9_]*[A-Z0-9]\b(?!\s*\()|\b[A-Z]\b(?!\s*\()", re.ASCII)
_CALLED = re.compile(r"\b([A-Z][A-Z0-9_]*)\s*\(", re.ASCII)
_DECLARED = re.compile(
    r"\b(?:void|char|short|int|long|float|double|unsigned|signed|bool|auto|\w+_t)[\s*&]+"
    r"(?:(?:const|restrict|__restrict__|__restrict)\s+)*(\w+)\s*(?=[=;,\[)({>:])"
    r"|\b(?:struct|class|union|enum|typename|using|namespace|goto)\s+(\w+)|\btypedef\b[^;{}]*?\b(\w+)\s*(?:\[[^;]*)?;",
    re.ASCII,
)
_ENUMERATED = re.compile(r"\benum\b[^;{}]*\{([^}]*)\}")
_SYSTEM = re.compile(
    r"^(?:_\w*|NULL|INFINITY|NAN|EOF|U?INT\w*_C|M_\w+|CHAR_BIT|FILE|(?:FLT|DBL|LDBL)_\w+"
    r"|(?:[US]?CHAR|U?SHRT|U?L?LONG|S?SIZE|PTRDIFF|RAND|U?INT(?:MAX|PTR|(?:_FAST|_LEAST)?\d+)?)_(?:MAX|MIN)"
    r"|NDEBUG|WIN32|GCC|OMP|STDC|CLOCK_\w+|EXIT_\w+|BUFSIZ)$"
)
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)\s*=(?!=)\s*([^;]*);", re.ASCII)
_LOOPS = re.compile(r"\b(?:for|while|malloc|calloc|alloca|aligned_alloc|realloc)\s*(?=\()")
_NAME = re.compile(r"\b[A-Za-z_]\w*", re.ASCII)
_QUALIFIERS = ("const", "restrict", "__restrict__", "__restrict", "volatile", "static", "register")
_KINDS = {
    "float": "float32",
    "double": "float64",
    "char": "int8",
    "bool": "uint8",
    "_Bool": "uint8",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_INTEGER_WORDS = frozenset(["signed", "unsigned", "long", "short", "int", "char"])


@dataclass(frozen=True, slots=True)
class Declaration:
    """One argument as declared.

    `extents` are those of its array dimensions, None where the declaration does not say; a scalar has none. `unfit`
    says why a specification cannot describe it, if so.
    """

    name: str
    kind: str
    dtype: str | None
    constant: bool
    extents: tuple[str | None, ...]
    unfit: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """The function that a kernel's source is called by."""

    name: str
    arguments: tuple[Declaration, ...]


@dataclass(frozen=True, slots=True)
class Glance:
    """What a source shows of its macros.

    `defaults` are those that it guards; `open` those that it uses without defining them; `truths` of these are tested
    by a bare ``#if``; `unvalued` are tested for being defined and nothing else. `bounds` are all names that bound loops
    or arrays. `threads` is the macro in ``num_threads``.
    """

    defaults: Mapping[str, str]
    open: tuple[str, ...]
    truths: frozenset[str]
    unvalued: tuple[str, ...]
    bounds: frozenset[str]
    openmp: bool
    threads: str | None


def glance(text: str) -> Glance:
    """Look over the macros of a source."""
    code = _without_comments(text)
    bare = _without_strings(code)
    defaults = {name: value for name, value in _GUARDED.findall(code) if not _SYSTEM.match(name)}
    defined = {name for name, _, _ in _DEFINE.findall(bare)}
    plain = _WHETHER_DEFINED.sub(" ", _without_words(bare))
    known = defined | _declared(plain) | set(_CALLED.findall(plain))
    valued = [name for name in dict.fromkeys(_MACRO.findall(plain)) if name not in known and not _SYSTEM.match(name)]
    asked = dict.fromkeys(first or second for first, second in _WHETHER_DEFINED.findall(bare))
    threads = _NUM_THREADS.search(code)
    return Glance(
        defaults=defaults,
        open=tuple(valued),
        truths=frozenset(_TRUTH.findall(bare)),
        unvalued=tuple(
            name for name in asked if name not in defined and name not in valued and not _SYSTEM.match(name)
        ),
        bounds=frozenset(_bounds(bare)),
        openmp=_OPENMP.search(code) is not None,
        threads=threads[1] if threads else None,
    )


def find_entry(text: str, preferred: str) -> Entry | None:
    """Return the function that returns void and can be called from outside: preferred name, extern "C", the last."""
    plain = _DIRECTIVES.sub(";", _without_strings(_without_comments(text), kept='"C"'))
    while found := _ATTRIBUTES.search(plain):
        end = found.end() if found[0].startswith("[[") else _closing(plain, plain.index("(", found.start()))
        plain = plain[: found.start()] + " " + plain[end:]
    plain = re.sub(r"\bnoexcept\b", " ", plain)
    entries = []
    for found in _FUNCTION.finditer(plain):
        end = _closing(plain, found.end())
        before = re.split(r"[;{}]", plain[: found.start()])[-1]
        if re.match(r"\s*(?:[a-z]\w*\s*)*\{", plain[end:]) and not _HELPER.search(before + found[0]):
            rank = (found[1] == preferred, 'extern "C"' in before, found.start())
            entries.append((rank, found[1], plain[found.end() + 1 : end - 1]))
    if not entries:
        return None
    _, name, inside = max(entries)
    texts = [part for part in _split(inside) if part and part != "void"]
    return Entry(name, tuple(_declaration(part, number) for number, part in enumerate(texts)))


def _declaration(text: str, number: int) -> Declaration:
    """Read one argument, such as ``const float *restrict a`` or ``float (*rows)[M]``."""
    text = text.split("=")[0].strip()
    extents: list[str | None] = []
    while text.endswith("]"):
        opening = _opening(text)
        extents.insert(0, " ".join(_plain(text[opening + 1 : -1].split())) or None)
        text = text[:opening].rstrip()
    grouped = re.fullmatch(r"([^()]*)\(([^()]*)\)(.*)", text)
    if grouped:
        before, marks, after = grouped.groups()
    else:
        before, marks, after = *_cut(text), ""
    words = _plain(_NAME.findall(before.replace("std::", "")))
    name = f"argument_{number}"
    if marks and (names := _plain(_NAME.findall(marks))):
        name = names[-1]
    elif not marks and len(words) > 1 and words[-1] not in _KINDS and words[-1] not in _INTEGER_WORDS:
        name = words.pop()
    pointers = len(re.findall(r"[*&]", before + marks))
    unfit = ""
    if text == "...":
        unfit = "a variable number of values"
    elif grouped and (after or not pointers):
        unfit = "a function"
    elif pointers > 1 or "[" in marks or (pointers and extents and not grouped):
        unfit = "a pointer to pointers"
    elif "<" in before:
        unfit = "an object"
    if "&" in marks:
        extents = extents or ["1"]
    elif pointers:
        extents.insert(0, None)
    constant = "const" in _NAME.findall(before)
    return Declaration(name, " ".join(words), _dtype(words), constant, tuple(extents), unfit)


def _cut(text: str) -> tuple[str, str]:
    """Cut a declaration before its first asterisk or ampersand."""
    place = re.search(r"[*&]|$", text)
    end = place.start() if place else len(text)
    return text[:end], text[end:]


def _plain(words: list[str]) -> list[str]:
    return [word for word in words if word not in _QUALIFIERS]


def _dtype(words: list[str]) -> str | None:
    if not words or not _INTEGER_WORDS.issuperset(words):
        return _KINDS.get(" ".join(words))
    bits = 8 if "char" in words else 16 if "short" in words else 64 if "long" in words else 32
    return f"{'uint' if 'unsigned' in words else 'int'}{bits}"


def _without_comments(text: str) -> str:
    """Join continued lines; a comment becomes a space, strings and characters stay."""
    joined = _CONTINUED.sub(" ", text.replace("\r\n", "\n"))
    return _TOKENS.sub(lambda token: " " if token[0].startswith("/") else token[0], joined)


def _without_strings(code: str, kept: str = "") -> str:
    return _TOKENS.sub(lambda token: token[0] if token[0] == kept else token[0][0] * 2, code)


def _without_words(bare: str) -> str:
    """Take out what holds words that are no macros: includes, pragmas but for their clauses, macros' own arguments."""
    pragmatic = [name for name, arguments, body in _DEFINE.findall(bare) if "_Pragma" in body]
    calls = re.compile(rf"\b(?:{'|'.join(['_Pragma', *map(re.escape, pragmatic)])})\s*(?=\()")
    plain = _PRAGMA.sub(lambda line: _clauses(line[1]), _WORDLESS.sub("", bare))
    plain = _DEFINE.sub(_body, plain)
    place = 0
    while found := calls.search(plain, place):
        end = _closing(plain, found.end())
        inside = plain[found.end() + 1 : end - 1]
        kept = _clauses(inside) if re.search(r"\b(?:omp|GCC|clang|unroll)\b", inside) else inside
        plain = f"{plain[: found.start()]} {kept} {plain[end:]}"
        place = found.start() + 1
    return plain


def _clauses(pragma: str) -> str:
    return " ".join(first or second for first, second in _CLAUSE.findall(pragma))


def _body(define: re.Match[str]) -> str:
    """The replacement text of a macro, without the names of its own arguments."""
    names = _NAME.findall(define[2] or "")
    return _NAME.sub(lambda word: "" if word[0] in names else word[0], define[3])


def _declared(plain: str) -> set[str]:
    names = {name for groups in _DECLARED.findall(plain) for name in groups if name}
    return names.union(*(_NAME.findall(inside) for inside in _ENUMERATED.findall(plain)))


def _bounds(bare: str) -> set[str]:
    """All names in array extents, subscripts, loop headers and allocations, and in what these were computed from."""
    texts = re.findall(r"\[([^][]*)\]", bare)
    texts += [bare[found.end() : _closing(bare, found.end())] for found in _LOOPS.finditer(bare)]
    sources: dict[str, list[str]] = {}
    for name, value in _ASSIGNED.findall(bare):
        sources.setdefault(name, []).append(value)
    for name, _, value in _DEFINE.findall(bare):
        sources.setdefault(name, []).append(value)
    found: set[str] = set()
    while texts:
        for name in _NAME.findall(texts.pop()):
            if name not in found:
                found.add(name)
                texts += sources.get(name, [])
    return found


def _closing(text: str, opening: int) -> int:
    """Return the place after the bracket that closes the one at `opening`, or the end of the text."""
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place + 1
    return len(text)


def _opening(text: str) -> int:
    """Return the place of the bracket that the last character closes."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == "]") - (text[place] == "[")
        if depth == 0:
            return place
    return 0


def _split(text: str) -> list[str]:
    """Split at the commas outside all brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [" ".join(part.split()) for part in parts]
