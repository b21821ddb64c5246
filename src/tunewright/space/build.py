"""From parameters and constraints to groups of valid rows, with what there is to say about it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tunewright.errors import ConstraintError, EmptySpaceError
from tunewright.space.columns import Domain
from tunewright.space.condition import Condition, ExpressionCondition, OutsideScopeSignal, conditions
from tunewright.space.group import Group, make_group
from tunewright.space.join import Join, count_alone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tunewright.space.constraint import Constraint
    from tunewright.space.parameters import Value

__all__ = ["build"]

MAX_CENSUS = 2_000_000


def build(
    parameters: Mapping[str, tuple[Value, ...]],
    constraints: Sequence[Constraint],
    constants: Mapping[str, Value],
) -> tuple[tuple[Constraint, ...], tuple[Group, ...], tuple[str, ...]]:
    """Enumerate the valid rows of every group.

    Returns the constraints with their final scopes and error counts, the groups in the order of their first
    parameters, and notes for display.

    Raises:
        ConstraintError: a constraint that fails other than by arithmetic.
        EmptySpaceError: nothing is left; says how much each constraint removes alone.
        SpaceTooLargeError: a group or a constraint beyond what can be enumerated.
    """
    domains = {name: Domain(values) for name, values in parameters.items()}
    parts = conditions(constraints, domains, constants)
    join = Join(domains, parts)
    if not join.run():
        raise EmptySpaceError(_emptiness(constraints, parts, domains))
    groups = []
    for table in join.tables:
        names = [name for name in parameters if name in table.columns]
        radices = [len(parameters[name]) for name in names]
        groups.append(make_group(names, radices, [table.columns[name] for name in names]))
    finished = []
    notes = []
    for owner, constraint in enumerate(constraints):
        own = [part for part in parts if part.owner == owner]
        scoped = replace(constraint, parameters=_scope(own, domains)) if own else constraint
        if owner in join.failed:
            count, note = _failure(scoped, own, domains, join.failed[owner])
            scoped = replace(scoped, errors=count)
            if count:
                notes.append(note)
        finished.append(scoped)
    return tuple(finished), tuple(groups), tuple(notes)


def _scope(parts: Sequence[Condition], domains: Mapping[str, Domain]) -> tuple[str, ...]:
    if len(parts) == 1:
        return tuple(parts[0].scope)
    return tuple(name for name in domains if any(name in part.scope for part in parts))


def _failure(
    constraint: Constraint, parts: Sequence[Condition], domains: Mapping[str, Domain], met: int
) -> tuple[int, str]:
    census = _census(parts, domains)
    scope = ", ".join(constraint.parameters) or "no parameters"
    told = f"constraint {constraint.text!r} {_arithmetic(constraint)}"
    if census is None:
        return met, f"{told} for {met} combinations of {scope} that were checked; they count as invalid"
    size, _, wrong = census
    return wrong, f"{told} for {wrong} of {size} combinations of {scope}; they count as invalid"


def _arithmetic(constraint: Constraint) -> str:
    if not isinstance(constraint.rule, str):
        return "ends in an arithmetic error"
    return "divides by zero or overflows" if "**" in constraint.rule else "divides by zero"


def _census(parts: Sequence[Condition], domains: Mapping[str, Domain]) -> tuple[int, int, int] | None:
    while True:
        try:
            return count_alone(parts, domains, MAX_CENSUS)
        except OutsideScopeSignal as signal:
            for part in parts:
                if not isinstance(part, ExpressionCondition):
                    part.extend(signal.names)
        except ConstraintError:
            return None


def _emptiness(constraints: Sequence[Constraint], parts: Sequence[Condition], domains: Mapping[str, Domain]) -> str:
    cartesian = math.prod(len(domain.values) for domain in domains.values())
    lines = []
    culprits = []
    for owner, constraint in enumerate(constraints):
        census = _census([part for part in parts if part.owner == owner], domains)
        if census is None:
            lines.append(f"  {constraint.text}: reads too many combinations to be counted alone")
            continue
        size, valid, wrong = census
        removed = (size - valid) * (cartesian // size)
        share = f"all {size}" if wrong == size else f"{wrong} of {size}"
        failing = f"{_arithmetic(constraint)} for {share} combinations" if wrong else ""
        lines.append(f"  {constraint.text}: alone removes {removed} of {cartesian}" + (failing and f", {failing}"))
        if valid == 0:
            because = f" (it {failing})" if wrong == size else ""
            culprits.append(f"{constraint.text!r}{because}")
    if culprits:
        advice = f"no configuration satisfies {culprits[0]}, whatever the others say; correct it or the value lists"
    else:
        advice = "each can be satisfied alone, but not all together; relax one or extend the value lists"
    return "\n".join([f"no configuration is left of {cartesian}: {advice}", *lines])
