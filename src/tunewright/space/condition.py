"""Conditions: constraints made ready for evaluation, each with the parameters it reads."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tunewright.errors import ConstraintError
from tunewright.space.columns import OTHER, Domain, Grid, holds
from tunewright.space.constraint import Constraint, WholeConfiguration
from tunewright.space.expression import names_in, parse
from tunewright.space.parameters import Value, show
from tunewright.space.scalar import OversizeError, scalar

__all__ = [
    "Condition",
    "ExpressionCondition",
    "FunctionCondition",
    "OutsideScopeSignal",
    "conditions",
    "satisfies",
]


class OutsideScopeSignal(BaseException):
    """A function read parameters outside the scope known so far."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.names = names


class ExpressionCondition:
    """An expression, or one conjunct of it. `owner` is the constraint's position."""

    def __init__(self, owner: int, text: str, node: ast.expr, domains: Mapping[str, Domain]) -> None:
        self.owner = owner
        self.text = text
        self.node = node
        names = names_in(node)
        self.scope = tuple(name for name in domains if name in names)

    def mask(self, grid: Grid) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint8] | None]:
        """Return where the condition holds and where it ends in an arithmetic error, both broadcastable.

        Raises:
            ConstraintError: it fails otherwise (a string compared with a number) somewhere on the grid.
        """
        mask, marks = holds(self.node, grid)
        if marks is None:
            return mask, None
        if (marks == OTHER).any():
            self._explain(grid, marks)
        return mask & (marks == 0), marks

    def holds_for(self, config: Mapping[str, Value]) -> bool:
        """Evaluate one configuration with Python objects; an arithmetic error counts as false."""
        try:
            return bool(scalar(self.node)(config))
        except ArithmeticError:
            return False
        except (OversizeError, TypeError, ValueError) as error:
            shown = {name: config[name] for name in self.scope}
            raise ConstraintError(
                f"constraint {self.text!r} cannot be evaluated for {show(shown) or 'any configuration'}: {error}"
            ) from error

    def _explain(self, grid: Grid, marks: npt.NDArray[np.uint8]) -> None:
        full = np.broadcast_to(marks, grid.shape)
        point = np.unravel_index(int(np.argmax(full == OTHER)), grid.shape)
        config = {}
        for name in self.scope:
            axis = grid.axis_of[name]
            config[name] = grid.domains[name].values[int(grid.axes[axis][name][point[axis]])]
        self.holds_for(config)
        raise AssertionError(f"evaluators disagree on {self.text!r} for {config!r}")


class FunctionCondition:
    """A Python function; the scope of one that takes the whole configuration grows with what it reads."""

    def __init__(self, owner: int, constraint: Constraint, domains: Mapping[str, Domain]) -> None:
        if constraint.rule is None or isinstance(constraint.rule, str):
            raise AssertionError("an expression is no function")
        self.owner = owner
        self.name = constraint.label
        self.function = constraint.rule
        self.domains = domains
        self.whole = isinstance(constraint.rule, WholeConfiguration)
        self.scope = tuple(constraint.parameters)
        self._choices = [domains[name].values for name in self.scope]
        self._keywords = () if self.whole else _keyword_only(constraint.rule)

    @property
    def text(self) -> str:
        """The function's name and the parameters that it is known to read."""
        return f"{self.name}({', '.join(self.scope)})"

    def extend(self, names: Sequence[str]) -> None:
        """Add parameters to the scope, kept in the space's order."""
        wanted = {*self.scope, *names}
        self.scope = tuple(name for name in self.domains if name in wanted)
        self._choices = [self.domains[name].values for name in self.scope]

    def probe(self) -> None:
        """Find a first scope: what the function reads for the first value of every parameter."""
        while self.whole:
            config = {name: self.domains[name].values[0] for name in self.scope}
            try:
                self._call(config)
            except OutsideScopeSignal as signal:
                self.extend(signal.names)
                continue
            except Exception:  # noqa: S110 - it counts only if building the space gets to this configuration
                pass
            return

    def outcome(self, codes: Sequence[int]) -> bool | None:
        """Call the function for value indices of the scope; None for an arithmetic error.

        Raises:
            OutsideScopeSignal: it reads more than the scope.
            ConstraintError: it raises anything but an ArithmeticError.
        """
        config = {name: choices[code] for name, choices, code in zip(self.scope, self._choices, codes, strict=True)}
        return self._outcome(config)

    def holds_for(self, config: Mapping[str, Value]) -> bool:
        """Call the function for a whole configuration; an arithmetic error counts as false."""
        return bool(self._outcome(config))

    def _outcome(self, config: Mapping[str, Value]) -> bool | None:
        try:
            return bool(self._call(config))
        except ArithmeticError:
            return None
        except Exception as error:
            # A function that fails before it reads a parameter fails for every configuration; the first one stands
            # for them.
            shown = config or {name: domain.values[0] for name, domain in self.domains.items()}
            raise ConstraintError(
                f"constraint {self.text!r} raised {type(error).__name__}: {error} for "
                f"{show(shown) or 'the empty configuration'}; "
                f"{self._advice(error)}"
            ) from error

    def _advice(self, error: Exception) -> str:
        if isinstance(error, TypeError) and len(self.scope) == 1 and not self.whole:
            return (
                f"its argument {self.scope[0]!r} is a parameter, so it takes that value alone; "
                "give the argument another name to take the whole configuration"
            )
        return "a constraint returns whether a configuration is valid"

    def _call(self, config: Mapping[str, Value]) -> Any:
        if self.whole:
            view = _View(config, self.domains)
            result = self.function(view)
            if view.missed:
                raise OutsideScopeSignal(view.missed)
            return result
        positional = [config[name] for name in self.scope if name not in self._keywords]
        return self.function(*positional, **{name: config[name] for name in self._keywords})


Condition: TypeAlias = ExpressionCondition | FunctionCondition


def conditions(
    constraints: Sequence[Constraint], domains: Mapping[str, Domain], constants: Mapping[str, Value]
) -> list[Condition]:
    """Return the conditions that state the constraints; a conjunction of safe parts becomes several."""
    result: list[Condition] = []
    for owner, constraint in enumerate(constraints):
        if isinstance(constraint.rule, str):
            expression = parse(constraint.rule)
            node = _Inlined(constants).visit(copy.deepcopy(expression.node)) if constants else expression.node
            parts = _conjuncts(node) if _cannot_fail(node, domains) else [node]
            result.extend(ExpressionCondition(owner, constraint.text, part, domains) for part in parts)
        elif constraint.rule is not None:
            condition = FunctionCondition(owner, constraint, domains)
            condition.probe()
            result.append(condition)
    return result


def satisfies(
    constraint: Constraint,
    config: Mapping[str, Value],
    domains: Mapping[str, Domain],
    constants: Mapping[str, Value],
) -> bool:
    """Say whether one configuration satisfies a constraint; one without a rule counts as satisfied."""
    parts = conditions([constraint], domains, constants)
    return all(
        part.holds_for({**constants, **config} if isinstance(part, ExpressionCondition) else config) for part in parts
    )


class _View(Mapping[str, Value]):
    """A configuration of which only the parameters in scope are there; reading others raises the signal."""

    def __init__(self, config: Mapping[str, Value], domains: Mapping[str, Domain]) -> None:
        self._config = config
        self._domains = domains
        self.missed: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Value:
        if name in self._config:
            return self._config[name]
        if name in self._domains:
            self._miss((name,))
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self._domains

    def __iter__(self) -> Iterator[str]:
        self._all()
        return iter(self._domains)

    def __len__(self) -> int:
        return len(self._domains)

    def __repr__(self) -> str:
        self._all()
        return repr({name: self._config[name] for name in self._domains})

    def _all(self) -> None:
        if len(self._config) < len(self._domains):
            self._miss(tuple(name for name in self._domains if name not in self._config))

    def _miss(self, names: tuple[str, ...]) -> None:
        self.missed = names
        raise OutsideScopeSignal(names)


class _Inlined(ast.NodeTransformer):
    """Writes the constants' values in place of their names."""

    def __init__(self, constants: Mapping[str, Value]) -> None:
        self.constants = constants

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self.constants[node.id]) if node.id in self.constants else node


def _conjuncts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [part for value in node.values for part in _conjuncts(value)]
    return [node]


def _cannot_fail(node: ast.expr, domains: Mapping[str, Domain]) -> bool:
    """Say whether no part can raise but an ArithmeticError, so that conjuncts may go in any order."""
    for part in ast.walk(node):
        if isinstance(part, ast.Tuple | ast.List | ast.Set | ast.Pow | ast.In | ast.NotIn):
            return False
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            return False
        if isinstance(part, ast.Name) and part.id in domains and domains[part.id].array is None:
            return False
        if isinstance(part, ast.Call) and len(part.args) == 1 and ast.unparse(part.func) != "abs":
            return False
    return True


def _keyword_only(function: Any) -> tuple[str, ...]:
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    empty = inspect.Parameter.empty
    return tuple(a.name for a in arguments if a.kind is inspect.Parameter.KEYWORD_ONLY and a.default is empty)
