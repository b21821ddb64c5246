"""Constraints that are Python functions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from tunewright.errors import (
    ConstraintError,
)
from tunewright.space import Constraint, SearchSpace

if TYPE_CHECKING:
    pass


def test_function_takes_parameters_by_argument_name(listed: Any) -> None:
    space = SearchSpace({"a": [1, 2], "b": [1, 2]}, [lambda b, a: b > a])
    assert listed(space) == [(1, 2)]
    assert space.constraints[0].parameters == ("b", "a")


def test_function_takes_keyword_only_arguments(listed: Any) -> None:
    def rule(a: int, *, b: int, slack: int = 1) -> bool:
        return b == a + slack

    assert listed(SearchSpace({"a": [1, 2], "b": [1, 2, 3]}, [rule])) == [(1, 2), (2, 3)]


def test_function_of_one_parameter_takes_its_value(listed: Any) -> None:
    assert listed(SearchSpace({"a": [1, 2, 3], "b": [1]}, [lambda a: a % 2 == 1])) == [(1, 1), (3, 1)]


def test_declared_function_takes_the_declared_parameters(listed: Any) -> None:
    rule = Constraint(lambda *values: sum(values) == 4, parameters=("b", "a"), name="sums to four")
    space = SearchSpace({"a": [1, 2, 3], "b": [1, 2, 3]}, [rule])
    assert listed(space) == [(1, 3), (2, 2), (3, 1)]
    assert space.constraints[0].text == "sums to four(b, a)"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda a, bb: True, r"'bb'.*did you mean 'b'"),
        (lambda: True, "names no argument"),
        (lambda *values: True, "names no argument"),
        (Constraint(lambda x: True, parameters=("c",)), "'c'"),
        (5, "neither text nor a function"),
    ],
)
def test_function_with_unusable_arguments_is_refused(rule: Any, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        SearchSpace({"a": [1], "b": [1]}, [rule])


def test_function_error_names_configuration_and_cause() -> None:
    def rule(a: int) -> bool:
        return [True][a]

    with pytest.raises(ConstraintError, match=r"'rule\(a\)' raised IndexError.*a=1") as caught:
        SearchSpace({"a": [0, 1]}, [rule])
    assert isinstance(caught.value.__cause__, IndexError)


def test_function_arithmetic_error_makes_a_configuration_invalid() -> None:
    space = SearchSpace({"a": [0, 1, 2], "b": [1, 2]}, [lambda a: 2 % a == 0])
    assert len(space) == 4
    assert space.constraints[0].errors == 1


def test_function_on_the_configuration_is_called_for_what_it_reads_only() -> None:
    calls = []

    def rule(config: Mapping[str, Any]) -> bool:
        calls.append(1)
        return bool(config["p0"] <= config["p1"] if config["p2"] else config["p3"] == 1)

    parameters = {f"p{i}": [0, 1, 2] for i in range(12)}
    space = SearchSpace(parameters, [rule])
    assert space.constraints[0].parameters == ("p0", "p1", "p2", "p3")
    assert len(calls) < 300
    expected = sum((a <= b if c else d == 1) for a, b, c, d in itertools.product(range(3), repeat=4))
    assert space.size == expected * 3**8
    assert len(space.groups) == 9


@pytest.mark.parametrize(
    "rule",
    [
        lambda config: sum(config.values()) == 2,
        lambda config: dict(**config)["a"] + config["b"] == 2,
        lambda config: len([1 for name in config if config[name] == 1]) == 2,
        lambda config: "nothing" not in config and config.get("zzz", 0) + config["a"] + config["b"] == 2,
    ],
)
def test_function_may_use_the_configuration_as_any_mapping(rule: Any, listed: Any) -> None:
    assert listed(SearchSpace({"a": [0, 1], "b": [0, 1]}, [rule])) == [(1, 1)]


def test_function_that_swallows_exceptions_does_not_hide_what_it_reads(listed: Any) -> None:
    def rule(config: Mapping[str, Any]) -> bool:
        try:
            return bool(config["a"] == config["b"])
        except:  # noqa: E722 - some do
            return False

    assert listed(SearchSpace({"a": [0, 1], "b": [0, 1]}, [rule])) == [(0, 0), (1, 1)]


def test_function_cannot_change_the_configuration() -> None:
    def rule(config: dict[str, int]) -> bool:
        config["a"] = 1
        return True

    with pytest.raises(ConstraintError, match="TypeError"):
        SearchSpace({"a": [0, 1]}, [rule])


def test_resolved_constraints_can_be_used_again() -> None:
    space = SearchSpace({"a": [0, 1, 2], "b": [0, 1, 2]}, [lambda c: c["a"] < c["b"], lambda a, b: a + b < 3, "a != 1"])
    assert SearchSpace(space.parameters, space.constraints) == space


def test_function_whose_argument_is_a_parameter_by_accident_is_told_so() -> None:
    with pytest.raises(ConstraintError, match="its argument 'c' is a parameter, so it takes that value alone"):
        SearchSpace({"a": [1], "c": [1]}, [lambda c: c["a"] == c["c"]])
