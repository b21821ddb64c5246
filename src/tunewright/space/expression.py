"""The grammar of constraint expressions: text in, checked syntax tree out. Nothing here is ever executed."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tunewright.errors import ConstraintError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Expression", "names_in", "parse"]

MAX_LENGTH = 20_000
MAX_DEPTH = 100

FUNCTIONS = ("abs", "max", "min")

# fmt: off
ALLOWED: tuple[type[ast.AST], ...] = (
    ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.BinOp, ast.Add, ast.Sub, ast.Mult,
    ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
    ast.In, ast.NotIn, ast.IfExp, ast.Call, ast.Constant, ast.Name, ast.Load, ast.Tuple, ast.List, ast.Set,
)
# fmt: on

ADVICE: dict[type[ast.AST], str] = {
    ast.BitAnd: "'&' is not supported; write 'and'",
    ast.BitOr: "'|' is not supported; write 'or'",
    ast.BitXor: "'^' is not supported; write '**' for powers, '!=' for exclusive or",
    ast.Invert: "'~' is not supported; write 'not'",
    ast.Is: "'is' is not supported; write '=='",
    ast.IsNot: "'is not' is not supported; write '!='",
    ast.LShift: "'<<' is not supported; write '* 2**n'",
    ast.RShift: "'>>' is not supported; write '// 2**n'",
    ast.Attribute: "attributes (a.b) are not supported; pass a Python function as the constraint",
    ast.Subscript: "subscripts (a[b]) are not supported; write the parameter's name alone",
    ast.NamedExpr: "':=' is not supported; write '=='",
    ast.JoinedStr: "f-strings are not supported; build the text first",
    ast.Lambda: "a lambda inside text is not supported; pass the Python function itself",
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression: its text, its syntax tree, and the names it reads."""

    text: str
    node: ast.expr = field(repr=False, compare=False)
    names: tuple[str, ...]

    @property
    def key(self) -> str:
        """Equal for expressions that differ only in spaces and redundant brackets."""
        return ast.dump(self.node)


def parse(text: str) -> Expression:
    """Parse and check an expression.

    Raises:
        ConstraintError: a syntax error, a construct outside the grammar, or too long or deep a text.
    """
    stripped = text.strip()
    if not stripped:
        raise ConstraintError(f"constraint {text!r} is empty; write a condition or leave it out")
    if len(stripped) > MAX_LENGTH:
        raise ConstraintError(
            f"constraint {_short(stripped)} has {len(stripped)} characters, more than {MAX_LENGTH}; "
            "split it into several constraints"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = ast.parse(stripped, mode="eval").body
    except SyntaxError as error:
        raise ConstraintError(f"constraint {_short(stripped)} cannot be read: {_syntax_advice(error)}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ConstraintError(
            f"constraint {_short(stripped)} cannot be read ({error}); it is nested too deeply or holds "
            "characters or numbers that are not allowed"
        ) from error
    _check(node, stripped)
    return Expression(stripped, node, names_in(node))


def names_in(node: ast.expr) -> tuple[str, ...]:
    """Return the names that an expression reads, in order of first appearance, functions left out."""
    return tuple(dict.fromkeys(_names(node)))


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    children: list[ast.AST] = list(node.args) if isinstance(node, ast.Call) else list(ast.iter_child_nodes(node))
    for child in children:
        yield from _names(child)


def _check(root: ast.expr, text: str) -> None:
    pending: list[tuple[ast.AST, int]] = [(root, 1)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise ConstraintError(
                f"constraint {_short(text)} is nested more than {MAX_DEPTH} levels deep; "
                "split it into several constraints"
            )
        if not isinstance(node, ALLOWED):
            advice = ADVICE.get(type(node), f"{type(node).__name__} is not supported in constraints")
            raise ConstraintError(f"constraint {_short(text)}: {advice}")
        if isinstance(node, ast.Constant):
            _check_constant(node, text)
        if isinstance(node, ast.Call):
            _check_call(node, text)
            pending.extend((argument, depth + 1) for argument in node.args)
        else:
            pending.extend((child, depth + 1) for child in ast.iter_child_nodes(node))


def _check_constant(node: ast.Constant, text: str) -> None:
    if not isinstance(node.value, bool | int | float | str):
        raise ConstraintError(
            f"constraint {_short(text)}: the literal {node.value!r} is not supported; use "
            "numbers, strings, True or False"
        )


def _check_call(node: ast.Call, text: str) -> None:
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
        raise ConstraintError(
            f"constraint {_short(text)}: {ast.unparse(node.func)!r} cannot be called; the functions are "
            f"{', '.join(FUNCTIONS)}; pass a Python function as the constraint for anything else"
        )
    name = node.func.id
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise ConstraintError(f"constraint {_short(text)}: {name} takes plain arguments only, no '*' and no keywords")
    if not node.args or (name == "abs" and len(node.args) != 1):
        raise ConstraintError(f"constraint {_short(text)}: {name} is called with {len(node.args)} arguments")


def _syntax_advice(error: SyntaxError) -> str:
    where = f" at character {error.offset}" if error.offset else ""
    line = error.text or ""
    advice = ""
    if "&&" in line or "||" in line or "!" in line.replace("!=", ""):
        advice = "; write 'and', 'or', 'not' for '&&', '||', '!'"
    elif "=" in line and not any(mark in line for mark in ("==", "<=", ">=", "!=")):
        advice = "; write '==' to compare"
    return f"{error.msg}{where}{advice}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:117] + "...")
