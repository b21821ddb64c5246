"""Constraints as users state them, and as the builder uses them: conditions with a known scope."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tunewright.errors import ConstraintError, ParameterError
from tunewright.space.expression import Expression, parse
from tunewright.space.parameters import Value, check_name, plain_value

__all__ = ["Constraint", "Rule", "WholeConfiguration", "check_constants", "resolve"]

# What a user's function takes and returns is the user's business.
Function: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class WholeConfiguration:
    """A function of one argument, the configuration as a read-only mapping."""

    function: Function

    @property
    def __name__(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, config: Mapping[str, Value]) -> Any:
        """Call the function."""
        return self.function(config)


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule that valid configurations satisfy: an expression, or a Python function that is called.

    Args:
        rule: an expression such as "x * y <= 1024", or a function.
        parameters: for a function, the parameters whose values it takes, in order. Left out: its argument
            names; a function of one argument that is not itself a parameter takes the whole configuration
            as a mapping.
        name: what to call a function in messages; left out: the function's own name.

    `errors` counts the combinations for which the rule ended in an arithmetic error (they are invalid). A
    rule read back from a file where it was a function has `text` only.
    """

    rule: str | Function | None
    parameters: Sequence[str] = ()
    name: str | None = None
    errors: int = 0

    def __post_init__(self) -> None:
        if self.rule is not None and not isinstance(self.rule, str) and not callable(self.rule):
            raise ConstraintError(
                f"constraint {self.rule!r} of type {type(self.rule).__name__} is neither text nor a function"
            )
        if isinstance(self.parameters, str):
            raise ConstraintError(f"constraint parameters are the text {self.parameters!r}; give a list of names")
        object.__setattr__(self, "parameters", tuple(self.parameters))

    @property
    def text(self) -> str:
        """The expression, or the function's name and parameters."""
        if isinstance(self.rule, str):
            return self.rule.strip()
        return self.label if self.rule is None else f"{self.label}({', '.join(self.parameters)})"

    @property
    def label(self) -> str:
        """The name given, or the function's own."""
        return self.name or str(getattr(self.rule, "__name__", type(self.rule).__name__))

    def __str__(self) -> str:
        return self.text


_DEFERRED: tuple[tuple[Callable[[object], bool], str], ...] = (
    (inspect.iscoroutinefunction, "an async function"),
    (inspect.isasyncgenfunction, "an async generator function"),
    (inspect.isgeneratorfunction, "a generator function"),
)

Rule: TypeAlias = str | Function | Constraint


def resolve(
    rules: Iterable[Rule], parameters: Mapping[str, tuple[Value, ...]], constants: Mapping[str, Value]
) -> tuple[Constraint, ...]:
    """Return the rules as constraints whose names are all known, equal ones once.

    Raises:
        ConstraintError: an unreadable rule, or a name that is neither a parameter nor a constant.
    """
    if isinstance(rules, str) or not isinstance(rules, Iterable):
        raise ConstraintError(f"constraints are {rules!r}; give a list of rules")
    known: dict[object, Constraint] = {}
    for rule in rules:
        constraint = rule if isinstance(rule, Constraint) else Constraint(rule)
        if isinstance(constraint.rule, str):
            expression = parse(constraint.rule)
            _check_single(expression)
            for name in expression.names:
                _check_known(name, constraint.text, parameters, constants)
            names = tuple(name for name in parameters if name in expression.names)
            known.setdefault(expression.key, Constraint(constraint.rule, names, constraint.name))
        elif constraint.rule is not None:
            for name in constraint.parameters:
                _check_known(name, constraint.text, parameters, {})
            function = constraint.rule
            _check_answers(function, constraint.label)
            names = tuple(constraint.parameters)
            if not names and not isinstance(function, WholeConfiguration):
                names = _argument_names(function, parameters)
                function = function if names else WholeConfiguration(function)
            if isinstance(function, WholeConfiguration):
                key: object = (id(function.function), "whole")
            else:
                key = (id(function), names)
            known.setdefault(key, Constraint(function, names, constraint.name))
        else:
            raise ConstraintError(f"constraint {constraint.text!r} has no rule; give text or a function")
    return tuple(known.values())


def check_constants(constants: Mapping[str, object], parameters: Mapping[str, tuple[Value, ...]]) -> dict[str, Value]:
    """Return the constants as plain values.

    Raises:
        ParameterError: an unusable name or value, or the name of a parameter.
    """
    checked: dict[str, Value] = {}
    for name, value in constants.items():
        if check_name(name) in parameters:
            raise ParameterError(f"constant {name!r} has the name of a parameter; rename one of them")
        checked[name] = plain_value(f"constant {name!r}", value)
    return checked


def _check_single(expression: Expression) -> None:
    if isinstance(expression.node, ast.Tuple | ast.List | ast.Set):
        parts = [ast.unparse(part) for part in expression.node.elts]
        advice = f"write {' and '.join(parts)!r}, or several constraints" if parts else "write a condition"
        raise ConstraintError(f"constraint {expression.text!r} is a list of conditions, not one; {advice}")


def _check_answers(function: Function, label: str) -> None:
    """Refuse functions that return an object to be run, which would count as true whatever it is."""
    plain = function.function if isinstance(function, WholeConfiguration) else function
    for called in (plain, getattr(plain, "__call__", None)):  # noqa: B004 - an object may have an async __call__
        for test, kind in _DEFERRED:
            if test(called):
                raise ConstraintError(
                    f"constraint {label!r} is {kind}, whose answer is not there when it returns; "
                    "write a plain function (def) that returns True or False"
                )


def _check_known(
    name: str, text: str, parameters: Mapping[str, tuple[Value, ...]], constants: Mapping[str, Value]
) -> None:
    known = [*parameters, *constants]
    if name in known:
        return
    close = difflib.get_close_matches(name, known, n=1)
    advice = f"did you mean {close[0]!r}?" if close else f"known names: {', '.join(known)}"
    raise ConstraintError(f"constraint {text!r} names {name!r}, which is no parameter and no constant; {advice}")


def _argument_names(function: Function, parameters: Mapping[str, tuple[Value, ...]]) -> tuple[str, ...]:
    """Return the parameters that a function names as its arguments; none means the whole configuration."""
    label = getattr(function, "__name__", repr(function))
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConstraintError(
            f"the arguments of constraint {label!r} cannot be seen; "
            "declare them: Constraint(function, parameters=('a', 'b'))"
        ) from error
    kinds = inspect.Parameter
    names = tuple(
        argument.name
        for argument in arguments
        if argument.default is kinds.empty and argument.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
    )
    if not names:
        raise ConstraintError(
            f"constraint {label!r} names no argument; name parameters as its arguments, or declare them: "
            "Constraint(function, parameters=('a', 'b'))"
        )
    if len(names) == 1 and names[0] not in parameters:
        return ()
    for name in names:
        if name not in parameters:
            close = difflib.get_close_matches(name, parameters, n=1)
            advice = f"did you mean {close[0]!r}?" if close else f"parameters: {', '.join(parameters)}"
            raise ConstraintError(
                f"argument {name!r} of constraint {label!r} is no parameter; {advice} "
                "(an argument with a default is left alone)"
            )
    return names
