"""When two spaces are the same, and spaces from listed configurations."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tunewright.errors import (
    SpaceError,
)
from tunewright.space import SearchSpace

if TYPE_CHECKING:
    pass


@pytest.mark.parametrize(
    "rules",
    [
        ["a < b", "c != d"],
        ["a < b and c != d"],
        ["(c != d) == (a < b) == True"],
        [lambda config: config["a"] < config["b"], lambda c, d: c != d],
        ["b > a", "not c == d", "a >= 0 or a + b + c + d < -1"],
    ],
)
def test_digest_does_not_depend_on_the_spelling_of_constraints(rules: list[Any]) -> None:
    parameters = dict.fromkeys("abcd", range(4))
    assert SearchSpace(parameters, rules) == SearchSpace(parameters, ["a < b", "c != d"])


def test_digest_sees_factors_that_pairs_do_not_show() -> None:
    parameters = dict.fromkeys("abcde", range(2))
    apart = SearchSpace(parameters, ["(a + b + c) % 2 == 0", "d <= e"])
    tied = SearchSpace(parameters, [lambda a, b, c, d, e: (a + b + c) % 2 == 0 and d <= e])
    assert [len(space.groups) for space in (apart, tied)] == [2, 1]
    assert apart.digest == tied.digest


@pytest.mark.parametrize(
    "other",
    [
        SearchSpace({"x": [1, 2], "y": [1, 2]}, ["x >= y"]),
        SearchSpace({"x": [1, 2], "y": [1, 2.0]}, ["x <= y"]),
        SearchSpace({"y": [1, 2], "x": [1, 2]}, ["x <= y"]),
        SearchSpace({"x": [2, 1], "y": [1, 2]}, ["x <= y"]),
        SearchSpace({"x": [1, 2], "z": [1, 2]}, ["x <= z"]),
    ],
)
def test_digest_differs_where_spaces_differ(other: SearchSpace) -> None:
    space = SearchSpace({"x": [1, 2], "y": [1, 2]}, ["x <= y"])
    assert space != other
    assert space.difference(other)
    assert str(space.difference(other)) != "the spaces are the same"
    assert not space.difference(space)


def test_listed_configurations_make_the_same_space(listed: Any) -> None:
    space = SearchSpace({"x": [1, 2, 4], "m": ["a", "b"]}, ["x > 1 or m == 'b'"])
    rows = listed(space)
    Random(1).shuffle(rows)
    again = SearchSpace.from_configurations({"x": [1, 2, 4], "m": ["a", "b"]}, rows)
    assert again == space
    assert listed(again) == sorted(rows)
    assert SearchSpace.from_configurations(space.parameters, space.codes) == space
    assert again.why_invalid({"x": 1, "m": "a"}) == [
        "it is not among the valid configurations that the space was made from"
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, 1), (2, 1), (1, 1)], r"x=1, y=1\) is given 2 times|x=1, y=1 is given 2 times"),
        ([(1, 3)], "y = 3 is not one of its values 1, 2"),
        ([(1,)], "has 1 values"),
        ([], "no configuration is left"),
        (np.array([[0, 2]]), "'y' run from 2 to 2"),
        (np.array([[0.5, 1.0]]), "type float64"),
        (np.array([0, 1]), "shape"),
    ],
)
def test_listed_configurations_are_checked(rows: Any, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        SearchSpace.from_configurations({"x": [1, 2], "y": [1, 2]}, rows)
