"""The reference evaluator: a checked syntax tree becomes nested closures over Python objects.

Every operator is Python's own, applied to Python's own objects, so this file defines what an expression
means; columns.py must agree with it. What could take unbounded time or memory is refused as
`OversizeError`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

__all__ = ["OversizeError", "power", "product", "remainder", "scalar"]

# Values of parameters are known, but what an expression makes of them (tuples, complex numbers) is not.
Scalar: TypeAlias = Callable[[Mapping[str, Any]], Any]

MAX_POWER_BITS = 4096
MAX_REPEATED = 10_000


class OversizeError(Exception):
    """A step of an expression whose result would be too large to compute."""


def power(base: Any, exponent: Any) -> Any:
    """Return base ** exponent; refuse integer powers of more than 4096 bits."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0 and base not in (-1, 0, 1):
        bits = base.bit_length() * exponent
        if bits > MAX_POWER_BITS:
            raise OversizeError(f"the power of {_size(base)} to {_size(exponent)} has more than {MAX_POWER_BITS} bits")
    return base**exponent


def product(left: Any, right: Any) -> Any:
    """Return left * right; refuse long repetitions of strings and tuples."""
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, str | tuple | list) and isinstance(times, int) and len(sequence) * times > MAX_REPEATED:
            raise OversizeError(f"repeating a {type(sequence).__name__} {_size(times)} times is too long")
    return left * right


def remainder(left: Any, right: Any) -> Any:
    """Return left % right for numbers; formatting a string is no arithmetic."""
    if isinstance(left, str):
        raise TypeError("% formats strings in Python; constraints support it for numbers only")
    return left % right


def _size(number: int) -> str:
    return str(number) if number.bit_length() <= 64 else f"a number of {number.bit_length()} bits"


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: product,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: remainder,
    ast.Pow: power,
}

UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}

COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}

CALLS: dict[str, Callable[..., Any]] = {"abs": abs, "max": max, "min": min}
DISPLAYS: dict[type[ast.expr], Callable[..., Any]] = {ast.Tuple: tuple, ast.List: list, ast.Set: set}


def scalar(node: ast.expr) -> Scalar:
    """Return a function from a mapping of names to the value of a checked expression.

    The function raises what Python would raise (ZeroDivisionError, OverflowError, TypeError) and
    OversizeError.
    """
    match node:
        case ast.Constant(value=value):
            return lambda env: value
        case ast.Name(id=name):
            return lambda env: env[name]
        case ast.UnaryOp(op=op, operand=operand):
            return _unary(UNARY[type(op)], scalar(operand))
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(BINARY[type(op)], scalar(left), scalar(right))
        case ast.BoolOp(op=ast.And(), values=values):
            return _and([scalar(value) for value in values])
        case ast.BoolOp(values=values):
            return _or([scalar(value) for value in values])
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            steps = [(COMPARE[type(op)], scalar(right)) for op, right in zip(ops, comparators, strict=True)]
            return _chain(scalar(left), steps)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _choice(scalar(test), scalar(body), scalar(orelse))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _call(CALLS[name], [scalar(argument) for argument in args])
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return _display(DISPLAYS[type(node)], [scalar(element) for element in elements])
    raise AssertionError(f"{type(node).__name__} passed the grammar check")


def _unary(op: Callable[[Any], Any], operand: Scalar) -> Scalar:
    return lambda env: op(operand(env))


def _binary(op: Callable[[Any, Any], Any], left: Scalar, right: Scalar) -> Scalar:
    return lambda env: op(left(env), right(env))


def _choice(test: Scalar, body: Scalar, orelse: Scalar) -> Scalar:
    return lambda env: body(env) if test(env) else orelse(env)


def _call(function: Callable[..., Any], arguments: list[Scalar]) -> Scalar:
    return lambda env: function(*[argument(env) for argument in arguments])


def _display(build: Callable[..., Any], elements: list[Scalar]) -> Scalar:
    return lambda env: build([element(env) for element in elements])


def _and(operands: list[Scalar]) -> Scalar:
    *head, last = operands

    def run(env: Mapping[str, Any]) -> Any:
        for operand in head:
            value = operand(env)
            if not value:
                return value
        return last(env)

    return run


def _or(operands: list[Scalar]) -> Scalar:
    *head, last = operands

    def run(env: Mapping[str, Any]) -> Any:
        for operand in head:
            value = operand(env)
            if value:
                return value
        return last(env)

    return run


def _chain(first: Scalar, steps: list[tuple[Callable[[Any, Any], Any], Scalar]]) -> Scalar:
    def run(env: Mapping[str, Any]) -> Any:
        left = first(env)
        result: Any = True
        for compare, operand in steps:
            right = operand(env)
            result = compare(left, right)
            if not result:
                return result
            left = right
        return result

    return run
