"""Definitions collected from modules of this package, with all that they need, as one text without these modules."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from tunewright.errors import OptionError

__all__ = ["Module", "Symbol", "collect"]

Symbol = tuple[str, str]
"""A module and a name at its top level."""


@dataclass(frozen=True)
class Module:
    """A module's text, and what each of its names is.

    Attributes:
        name: as it is imported.
        text: the source.
        statements: top-level statements by the names that they define.
        imports: names that come from elsewhere: module, and name in it or empty for the module itself.
    """

    name: str
    text: str
    statements: Mapping[str, ast.stmt]
    imports: Mapping[str, Symbol]

    @classmethod
    def read(cls, name: str, file: Path) -> Module:
        """Read a module.

        Raises:
            OptionError: the file cannot be read or parsed.
        """
        try:
            text = file.read_text("utf-8")
            tree = ast.parse(text)
        except (OSError, SyntaxError, ValueError) as error:
            raise OptionError(f"{file} cannot be exported: {error}") from error
        statements: dict[str, ast.stmt] = {}
        imports: dict[str, Symbol] = {}
        for statement in _unconditional(tree.body):
            for bound in _bound(statement):
                statements[bound] = statement
            imports.update(_imported(statement))
        return cls(name, text, statements, imports)

    def source(self, statement: ast.stmt, renamed: Mapping[str, str]) -> str:
        """A statement's text with its comments before and its documentation after, some names replaced.

        Raises:
            OptionError: one of those names stands for something else as well.
        """
        lines = self.text.splitlines()
        first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))]) - 1
        while first > 0 and lines[first - 1].startswith("#"):
            first -= 1
        last = statement.end_lineno or statement.lineno
        body = ast.parse(self.text).body
        following = next((each for each in body if each.lineno > last), None)
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            last = following.end_lineno or last
        arguments = {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}
        for line, column, name in sorted(_uses(statement), reverse=True):
            if name not in renamed:
                continue
            raw = lines[line - 1].encode()
            end = column + len(name.encode())
            if name in arguments or raw[column:end] != name.encode():  # in a formatted text, before Python 3.12
                raise OptionError(f"{name!r} in line {line} of {self.name} has two meanings; give one another name")
            lines[line - 1] = (raw[:column] + renamed[name].encode() + raw[end:]).decode()
        return "\n".join(lines[first:last])


class Collected(NamedTuple):
    """A text of definitions, and what those are called in it that were asked for."""

    text: str
    names: list[str]


def collect(roots: Iterable[Symbol], files: Mapping[str, Path], replaced: Mapping[Symbol, Symbol]) -> Collected:
    """The text of some definitions and of all that they use, each after those that it is made from.

    Args:
        roots: what to collect.
        files: modules of other places than this package, by the names that `roots` give them.
        replaced: symbols to be taken from elsewhere; they may stand after what mentions them.

    Raises:
        OptionError: something is used that cannot be copied, or two imports are called the same.
    """
    return _Collector(files, replaced).collected(list(roots))


class _Collector:
    """Follows names from module to module."""

    def __init__(self, files: Mapping[str, Path], replaced: Mapping[Symbol, Symbol]) -> None:
        self._files = files
        self._replaced = replaced
        self._modules: dict[str, Module] = {}
        self._needed: dict[str, set[str]] = {}  # by module
        self._after: dict[str, set[str]] = {}  # modules that stand before a module
        self._outside: dict[str, Symbol] = {}

    def collected(self, roots: list[Symbol]) -> Collected:
        """See `collect`."""
        for root in roots:
            self._need(root)
        names = self._names(roots)
        parts = [self._imports()]
        for name in self._order():
            module = self._modules[name]
            renamed = {own: names[symbol] for own, symbol in self._visible(module) if names[symbol] != own}
            chosen = sorted({module.statements[each] for each in self._needed[name]}, key=lambda each: each.lineno)
            parts += [f"# From {name}", *(module.source(statement, renamed) for statement in chosen)]
        return Collected("\n\n\n".join(parts) + "\n", [names[root] for root in roots])

    def _order(self) -> list[str]:
        """The modules, each after those that it uses."""
        try:
            return list(TopologicalSorter(self._after).static_order())
        except CycleError as error:
            raise OptionError(f"modules that use each other cannot be exported: {', '.join(error.args[1])}") from error

    def _module(self, name: str) -> Module:
        if name not in self._modules:
            file = self._files.get(name)
            if file is None:
                spec = importlib.util.find_spec(name)
                if spec is None or spec.origin is None:
                    raise OptionError(f"{name} cannot be exported: there is no such module")
                file = Path(spec.origin)
            self._modules[name] = Module.read(name, file)
        return self._modules[name]

    def _resolve(self, symbol: Symbol) -> Symbol:
        """Where a name of this package is defined, by way of packages that only pass it on."""
        symbol = self._replaced.get(symbol, symbol)
        module = self._module(symbol[0])
        if symbol[1] in module.statements:
            return symbol
        further = module.imports.get(symbol[1])
        if further is None or not further[1]:
            raise OptionError(f"{symbol[1]!r} of {symbol[0]} cannot be exported")
        return self._resolve(further)

    def _need(self, symbol: Symbol) -> None:
        """Note a definition and those that it uses."""
        module, name = self._module(symbol[0]), symbol[1]
        needed = self._needed.setdefault(module.name, set())
        before = self._after.setdefault(module.name, set())
        if name in needed:
            return
        needed.add(name)
        for used in sorted({each for _, _, each in _uses(module.statements[name])}):
            found = self._lookup(module, used)
            if found is not None:
                self._need(found)
                if found[0] != module.name and found not in self._replaced.values():
                    before.add(found[0])

    def _lookup(self, module: Module, name: str) -> Symbol | None:
        """What a name stands for in a module: one of this package's symbols, else None; imports are noted."""
        if name in module.statements:
            return module.name, name
        origin = module.imports.get(name)
        if origin is None:
            return None  # built in, or local
        if _ours(origin[0]):
            if not origin[1]:
                raise OptionError(f"{module.name} imports {origin[0]} as a whole, which cannot be exported")
            return self._resolve(origin)
        if self._outside.setdefault(name, origin) != origin:
            raise OptionError(f"{name!r} is imported from {origin[0]} and from {self._outside[name][0]}")
        return None

    def _visible(self, module: Module) -> Iterator[tuple[str, Symbol]]:
        """The collected symbols that a module's text names, and how it names them."""
        for own in module.statements:
            if own in self._needed[module.name]:
                yield own, (module.name, own)
        used = {each for name in self._needed[module.name] for _, _, each in _uses(module.statements[name])}
        for own in used & module.imports.keys():
            if _ours(module.imports[own][0]):
                yield own, self._resolve(module.imports[own])

    def _names(self, roots: list[Symbol]) -> dict[Symbol, str]:
        """A name of its own for every definition: its old one, where no other has taken it; first come the roots."""
        taken = set(self._outside)
        names: dict[Symbol, str] = {}
        everything = [(module, name) for module, needed in self._needed.items() for name in sorted(needed)]
        for symbol in dict.fromkeys([*roots, *everything]):
            module, name = symbol
            if name in taken:
                name = f"_{module.rpartition('.')[2]}_{name.lstrip('_')}"
            if name in taken:
                raise OptionError(f"{symbol[1]!r} of {module} and another definition cannot be told apart")
            taken.add(name)
            names[symbol] = name
        return names

    def _imports(self) -> str:
        """Import statements, the standard library's first."""
        whole = {
            (module, f"import {module}" if module == bound else f"import {module} as {bound}")
            for bound, (module, name) in self._outside.items()
            if not name
        }
        members: dict[str, list[str]] = {}
        for bound, (module, name) in sorted(self._outside.items()):
            if name:
                members.setdefault(module, []).append(name if name == bound else f"{name} as {bound}")
        lines = [line for _, line in sorted(whole)]
        lines += [f"from {module} import {', '.join(each)}" for module, each in sorted(members.items())]
        standard = [line for line in lines if line.split()[1].partition(".")[0] in sys.stdlib_module_names]
        others = [line for line in lines if line not in standard]
        return "\n".join(standard) + "\n\n" + "\n".join(others)


def _ours(module: str) -> bool:
    return module == "tunewright" or module.startswith("tunewright.")


def _unconditional(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Top-level statements, and imports for type checkers."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from (each for each in statement.body if isinstance(each, ast.Import | ast.ImportFrom))
        else:
            yield statement


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a top-level statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _imported(statement: ast.stmt) -> Iterator[tuple[str, Symbol]]:
    if isinstance(statement, ast.ImportFrom) and statement.module != "__future__":
        for each in statement.names:
            yield each.asname or each.name, (statement.module or "", each.name)
    elif isinstance(statement, ast.Import):
        for each in statement.names:
            yield each.asname or each.name.partition(".")[0], (each.name, "")


def _uses(statement: ast.stmt) -> Iterator[tuple[int, int, str]]:
    """Names in a statement and where they stand: line and byte."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.lineno, node.col_offset, node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node is statement:
            word = "class " if isinstance(node, ast.ClassDef) else "def "
            yield node.lineno, node.col_offset + len(word), node.name
