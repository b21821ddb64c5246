"""Value lists written as Python expressions, as in T1 files: interpreted, never executed, and bounded."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tunewright.errors import ParameterError
from tunewright.space.scalar import BINARY, COMPARE, UNARY, OversizeError

__all__ = ["parse_values"]

MAX_ELEMENTS = 1_000_000
MAX_STEPS = 10_000_000
MAX_LENGTH = 1_000_000
MAX_DEPTH = 100

# Loop variables hold whatever the expression makes of them.
Scope: TypeAlias = Mapping[str, Any]

SIMPLE_CALLS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "bool": bool,
    "float": float,
    "int": int,
    "max": max,
    "min": min,
    "round": round,
}


def parse_values(text: str) -> list[Any]:
    """Return the list that an expression such as "[2**i for i in range(6)] + [48]" stands for.

    Literals, lists, tuples, +, arithmetic, comparisons, range, list, abs, bool, float, int, max, min,
    round, and list comprehensions with any number of `for` and `if`.

    Raises:
        ParameterError: anything else, more than a million elements, or too long a computation.

    >>> parse_values("[1, 2] + list(range(32, 129, 32))")
    [1, 2, 32, 64, 96, 128]
    """
    try:
        if len(text) > MAX_LENGTH:
            raise OversizeError(f"the text has more than {MAX_LENGTH} characters")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = ast.parse(text.strip(), mode="eval").body
        _check_depth(node)
        result = _Interpreter().evaluate(node, {})
    except SyntaxError as error:
        raise ParameterError(f"the values {_short(text)} are no Python expression: {error.msg}") from error
    except (ArithmeticError, ValueError, TypeError, OversizeError, RecursionError, MemoryError) as error:
        raise ParameterError(f"the values {_short(text)} cannot be used: {error}") from error
    if not isinstance(result, list | tuple | range):
        raise ParameterError(f"the values {_short(text)} are a single {type(result).__name__}; write a list: [...]")
    return list(result)


class _Interpreter:
    def __init__(self) -> None:
        self.steps = 0

    def evaluate(self, node: ast.expr, scope: Scope) -> Any:
        self.spend(1)
        match node:
            case ast.Constant(value=value) if isinstance(value, bool | int | float | str):
                return value
            case ast.Name(id=name):
                if name not in scope:
                    raise ValueError(f"the name {name!r} is unknown; only loop variables can be used")
                return scope[name]
            case ast.List(elts=elements):
                return self.elements(elements, scope)
            case ast.Tuple(elts=elements):
                return tuple(self.elements(elements, scope))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
                return UNARY[type(op)](self.evaluate(operand, scope))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return self.bounded(BINARY[type(op)](self.evaluate(left, scope), self.evaluate(right, scope)))
            case ast.BoolOp(op=op, values=values):
                return self.junction(isinstance(op, ast.And), values, scope)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self.compare(left, ops, comparators, scope)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.evaluate(body if self.evaluate(test, scope) else orelse, scope)
            case ast.ListComp(elt=element, generators=generators):
                return self.comprehension(element, generators, scope)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.call(name, args, scope)
        raise ValueError(f"{ast.unparse(node)!r} is not supported; write the list out")

    def spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise OversizeError("it takes too long to compute; write the list out")

    def bounded(self, value: Any) -> Any:
        if isinstance(value, list | tuple | str):
            _check_size(value)
        if isinstance(value, list | tuple):
            self.spend(len(value))
        return value

    def elements(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Any]:
        result: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                result += self.listed(self.evaluate(node.value, scope))
            else:
                result.append(self.evaluate(node, scope))
            _check_size(result)
        return result

    def junction(self, conjunction: bool, nodes: Sequence[ast.expr], scope: Scope) -> Any:
        value: Any = conjunction
        for node in nodes:
            value = self.evaluate(node, scope)
            if bool(value) != conjunction:
                break
        return value

    def compare(self, first: ast.expr, ops: Sequence[ast.cmpop], comparators: Sequence[ast.expr], scope: Scope) -> Any:
        left = self.evaluate(first, scope)
        result: Any = True
        for op, comparator in zip(ops, comparators, strict=True):
            if type(op) not in COMPARE:
                raise ValueError("'is' is not supported; write '=='")
            right = self.evaluate(comparator, scope)
            if isinstance(right, list | tuple):
                self.spend(len(right))
            result = COMPARE[type(op)](left, right)
            if not result:
                return result
            left = right
        return result

    def call(self, name: str, args: Sequence[ast.expr], scope: Scope) -> Any:
        if name == "range":
            result = range(*[self.evaluate(argument, scope) for argument in args])
            _check_size(result)
            return result
        if name == "list" and len(args) == 1:
            [argument] = args
            if isinstance(argument, ast.GeneratorExp):
                return self.comprehension(argument.elt, argument.generators, scope)
            return self.listed(self.evaluate(argument, scope))
        if name in SIMPLE_CALLS and args:
            values = [self.evaluate(argument, scope) for argument in args]
            self.spend(sum(len(value) for value in values if isinstance(value, list | tuple | range)))
            return SIMPLE_CALLS[name](*values)
        raise ValueError(f"{name!r} cannot be called; the functions are list, range, {', '.join(SIMPLE_CALLS)}")

    def listed(self, value: Any) -> list[Any]:
        if not isinstance(value, list | tuple | range | str):
            raise TypeError(f"{value!r} is no list")
        self.spend(len(value))
        return list(value)

    def comprehension(self, element: ast.expr, generators: Sequence[ast.comprehension], scope: Scope) -> list[Any]:
        result: list[Any] = []
        for inner in self.loops(generators, dict(scope)):
            result.append(self.evaluate(element, inner))
            _check_size(result)
        return result

    def loops(self, generators: Sequence[ast.comprehension], scope: dict[str, Any]) -> Iterator[Scope]:
        if not generators:
            yield scope
            return
        first, *rest = generators
        for item in self.listed(self.evaluate(first.iter, scope)):
            self.spend(1)
            inner = {**scope, **_bind(first.target, item)}
            if all(self.evaluate(condition, inner) for condition in first.ifs):
                yield from self.loops(rest, inner)


def _bind(target: ast.expr, item: Any) -> dict[str, Any]:
    match target:
        case ast.Name(id=name):
            return {name: item}
        case ast.Tuple(elts=elements):
            bound: dict[str, Any] = {}
            for element, part in zip(elements, item, strict=True):
                bound.update(_bind(element, part))
            return bound
    raise ValueError(f"the loop variable {ast.unparse(target)!r} is not supported; use a plain name")


def _check_size(values: Sequence[Any]) -> None:
    # len() of a range is limited to a machine word; the slice is empty exactly where there are few enough.
    if values[MAX_ELEMENTS:]:
        raise OversizeError(f"it has more than {MAX_ELEMENTS} elements")


def _check_depth(root: ast.expr) -> None:
    pending: list[tuple[ast.AST, int]] = [(root, 1)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise OversizeError(f"it is nested more than {MAX_DEPTH} levels deep")
        pending.extend((child, depth + 1) for child in ast.iter_child_nodes(node))


def _short(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:117] + "...")
