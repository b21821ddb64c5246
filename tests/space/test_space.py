"""What a search space answers, and what it refuses."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Mapping
from enum import Enum, IntEnum
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunewright import space as package
from tunewright.errors import (
    ConstraintError,
    EmptySpaceError,
    OptionError,
    ParameterError,
    SpaceError,
    SpaceTooLargeError,
)
from tunewright.space import SearchSpace, group, join

if TYPE_CHECKING:
    from pathlib import Path


class Size(IntEnum):
    SMALL = 16


class Mode(str, Enum):  # noqa: UP042 - as users of older releases write it
    FLAT = "flat"


def test_public_names_are_there() -> None:
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, True], "True twice"),
        ([1, 1.0], "1.0 twice"),
        ([0.0, -0.0], "-0.0 twice"),
        ([], "empty"),
        ([math.nan], "nan"),
        ([1.0, math.inf], "inf"),
        ([np.float64("nan")], "nan"),
        ([None], "None"),
        ([1 + 2j], "complex"),
        ([{"a": 1}], "dict"),
        ([b"a"], "bytes"),
        ("flat", r"\['flat'\]"),
        (b"flat", "single text"),
        (5, "ordered list"),
        ({1, 2}, "ordered list"),
        (np.zeros((2, 2)), "shape"),
    ],
)
def test_value_list_is_refused_with_name_and_value(values: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        SearchSpace({"block": values})
    assert "'block'" in str(caught.value)


def test_enumerations_become_their_values() -> None:
    space = SearchSpace({"size": [Size.SMALL], "mode": [Mode.FLAT]})
    assert [(type(v), v) for v in space.config(0).values()] == [(int, 16), (str, "flat")]


@pytest.mark.parametrize("parameters", [[("x", [1])], None])
def test_parameters_that_are_no_mapping_are_refused(parameters: Any) -> None:
    with pytest.raises(ParameterError):
        SearchSpace(parameters)


def test_arguments_are_not_changed_and_not_kept() -> None:
    values = [1, 2, 3]
    rules = ["x < 3"]
    constants = {"limit": 3}
    space = SearchSpace({"x": values}, rules, constants=constants)
    values.append(4)
    rules.append("x > 1")
    constants["limit"] = 0
    assert (len(space), space.parameters["x"], space.constants["limit"]) == (2, (1, 2, 3), 3)
    with pytest.raises(TypeError):
        space.parameters["x"] = (1,)  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        space.codes[0, 0] = 1


def test_constant_must_not_shadow_a_parameter() -> None:
    with pytest.raises(ParameterError, match="'x' has the name of a parameter"):
        SearchSpace({"x": [1]}, constants={"x": 2})


def test_constraint_on_constants_alone_is_decided_once() -> None:
    assert len(SearchSpace({"x": [1, 2]}, ["limit > 3"], constants={"limit": 4})) == 2
    with pytest.raises(EmptySpaceError, match="'limit > 3'"):
        SearchSpace({"x": [1, 2]}, ["limit > 3"], constants={"limit": 2})


def test_constraints_given_as_one_text_are_refused() -> None:
    with pytest.raises(ConstraintError, match="list of rules"):
        SearchSpace({"x": [1, 2]}, "x > 1")


# Groups.


def test_unrelated_constraints_stay_apart() -> None:
    space = SearchSpace({"a": [1, 2], "b": [1, 2], "c": [1, 2, 3], "d": [1, 2]}, ["a <= d", "c != 2 and b <= 2"])
    assert [(info.names, info.size, info.cartesian) for info in space.groups] == [
        (("a", "d"), 3, 4),
        (("b",), 2, 2),
        (("c",), 2, 3),
    ]
    assert space.size == 12


def test_grid_beyond_the_limit_is_refused_with_the_constraint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join, "MAX_GRID", 1000)
    with pytest.raises(SpaceTooLargeError, match=r"'a \+ b \+ c < 9'.*8,000 combinations of a, b, c.*split it"):
        SearchSpace(dict.fromkeys("abc", range(20)), ["a + b + c < 9"])


def test_group_beyond_the_limit_is_refused_with_the_constraint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join, "MAX_ROWS", 1000)
    with pytest.raises(SpaceTooLargeError, match=r"1,330 combinations.*'a \+ b != c'|.*more than 1,000"):
        SearchSpace(dict.fromkeys("abc", range(20)), ["a + b != c"])


def test_evaluation_in_blocks_gives_the_same_space(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = {name: list(range(7)) for name in "abcde"}
    rules = ["a + b * c < d + 9", "c % (e + 1) == 0", lambda a, e: a != e]
    whole = SearchSpace(parameters, rules)
    monkeypatch.setattr(join, "BLOCK", 50)
    assert SearchSpace(parameters, rules).digest == whole.digest


def test_group_of_very_many_parameters_is_joined_and_found() -> None:
    names = [f"p{i}" for i in range(30)]
    rules = [f"{a} == {b}" for a, b in itertools.pairwise(names[:28])]
    rules.append(" + ".join(names[:28]) + " == 28 * p28")
    space = SearchSpace({name: range(10) for name in names}, rules)
    assert space.size == 100
    assert [space.find(space.config(number)) for number in range(100)] == list(range(100))
    assert space.neighbors(5, "single") == (0, 1, 2, 3, 4, 6, 7, 8, 9)
    assert len(space.neighbors(55, "box")) == 8


def test_errors_of_a_function_are_counted_over_all_that_it_reads() -> None:
    def rule(config: Mapping[str, int]) -> bool:
        return 4 % config["a"] == 0 if config["b"] else 4 % config["c"] == 1

    space = SearchSpace({"a": [0, 1, 2], "b": [1, 0], "c": [1, 3, 0]}, [rule])
    assert space.constraints[0].errors == 3 + 3
    assert space.notes == (
        (
            "constraint 'rule(a, b, c)' ends in an arithmetic error for 6 of 18 combinations of a, b, c; "
            "they count as invalid"
        ),
    )


# Questions.


def test_find_refuses_missing_and_unknown_names() -> None:
    space = SearchSpace({"x": [1, 2], "y": [1, 2]})
    with pytest.raises(SpaceError, match=r"lacks y and has unknown parameters z.*parameters are x, y"):
        space.find({"x": 1, "z": 1})


@pytest.mark.parametrize("value", [3, "1", None, [1], math.nan])
def test_find_gives_none_for_a_value_not_listed(value: object) -> None:
    assert SearchSpace({"x": [1, 2]}).find({"x": value}) is None


def test_find_takes_numpy_values() -> None:
    assert SearchSpace({"x": [1, 2], "f": [0.5]}).find({"x": np.int64(2), "f": np.float32(0.5)}) == 1


@given(st.fixed_dictionaries({"x": st.integers(-9, 40), "y": st.floats(-2, 9), "m": st.sampled_from("abc")}))
def test_nearest_minimises_the_stated_distance(config: dict[str, Any]) -> None:
    lists: dict[str, list[Any]] = {"x": [1, 2, 4, 8, 16], "y": [0.5, 1.0, 3.0], "m": ["a", "b"]}
    space = SearchSpace(lists, ["x * y <= 8", "m == 'a' or x > 1"])

    def position(values: list[float], wanted: float) -> float:
        return float(np.interp(wanted, values, range(len(values))))

    def distance(number: int) -> float:
        own = space.config(number)
        total = float(own["m"] != config["m"])
        for name in ("x", "y"):
            far = abs(lists[name].index(own[name]) - position(lists[name], config[name]))
            total += far / (len(lists[name]) - 1)
        return round(total, 9)

    assert space.nearest(config) == min(range(len(space)), key=distance)


def test_why_invalid_lists_every_broken_constraint() -> None:
    space = SearchSpace({"x": [0, 1, 2], "y": [1, 2]}, ["x < y", "4 // x > 1", lambda x: x > 0])
    assert space.why_invalid({"x": 0, "y": 1}) == ["4 // x > 1", "<lambda>(x)"]
    assert space.why_invalid({"x": 1, "y": 2}) == []
    assert space.why_invalid({"x": 5, "y": 2}) == ["x = 5 is not one of 0, 1, 2"]


def test_spread_is_distinct_repeatable_and_covers_the_range() -> None:
    space = SearchSpace({"x": list(range(50)), "y": list(range(50))}, ["(x + y) % 2 == 0"])
    chosen = space.spread(16)
    assert chosen == space.spread(16, Random(0))
    assert len(set(chosen)) == 16
    points = space.codes[chosen] / 49
    assert points.min(axis=0).max() < 0.1
    assert points.max(axis=0).min() > 0.9
    gaps = [math.dist(a, b) for a, b in itertools.combinations(points, 2)]
    assert min(gaps) > 0.15


def test_spread_over_more_than_there_is_gives_all() -> None:
    space = SearchSpace({"x": [1, 2, 3]})
    assert sorted(space.spread(10)) == [0, 1, 2]
    assert space.spread(0) == []
    with pytest.raises(OptionError, match="-1"):
        space.spread(-1)


def test_spread_of_many_over_a_huge_space_is_distinct() -> None:
    chosen = SearchSpace({f"p{i}": range(10) for i in range(20)}).spread(15_000)
    assert len(set(chosen)) == 15_000


def test_fixed_parameters_are_pinned(listed: Any) -> None:
    space = SearchSpace({"x": [1, 2, 4], "y": [1, 2, 4], "z": [0, 1]}, ["x <= y"])
    pinned = space.fix(y=2, z=1)
    assert listed(pinned) == [(1, 2, 1), (2, 2, 1)]
    assert pinned.parameters["y"] == (2,)
    assert pinned == SearchSpace({"x": [1, 2, 4], "y": [2], "z": [1]}, ["x <= y"])
    assert len(space) == 12


def test_fix_refuses_unknown_names_values_and_empty_results() -> None:
    space = SearchSpace({"x": [1, 2], "y": [1, 2]}, ["x != 2 or y != 2"])
    with pytest.raises(SpaceError, match=r"'w'.*x, y"):
        space.fix(w=1)
    with pytest.raises(SpaceError, match=r"'x' to 3; its values are 1, 2"):
        space.fix(x=3)
    with pytest.raises(EmptySpaceError, match="x=2, y=2"):
        space.fix(x=2, y=2)


# Numeric view.


def test_numeric_columns_are_logarithms_ranks_and_choices() -> None:
    space = SearchSpace(
        {"p": [1, 2, 4], "q": [0, 1, 4], "u": [16, 32, 48], "m": ["a", "b"], "one": [7], "f": [True, False]}
    )
    assert space.numeric_names == ("log2(p)", "q", "rank(q)", "log2(u)", "rank(u)", "m=a", "m=b", "f")
    assert space.numeric.shape == (108, 8)
    assert space.numeric.min() == 0
    assert space.numeric.max() == 1
    number = space.find({"p": 2, "q": 1, "u": 48, "m": "b", "one": 7, "f": True})
    assert space.numeric[number].tolist() == [0.5, 0.25, 0.5, 1, 1, 0, 1, 1]


def test_numeric_view_survives_extreme_values() -> None:
    space = SearchSpace({"a": [10**400, 1, 3], "b": [-1e308, 1e308, 0.0], "c": [-(10**400), 0, 1]})
    assert np.isfinite(space.numeric).all()
    assert space.nearest({"a": 10**399, "b": 5.0, "c": -1}) >= 0


# Files.


@pytest.mark.parametrize("narrow", [2**62, 0], ids=["integer keys", "byte keys"])
def test_saved_space_keeps_values_types_notes_and_rows(
    narrow: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(group, "NARROW", narrow)
    space = SearchSpace(
        {"i": [0, 1, 10**30], "f": [0.1, 2.0], "b": [True, False], "s": ["ü", "b"]},
        ["4 % i == 0", "f < 2 or b"],
    )
    space.save(tmp_path / "space")
    loaded = SearchSpace.load(tmp_path / "space")
    assert loaded == space
    assert dict(loaded.parameters) == dict(space.parameters)
    assert loaded.notes == space.notes
    assert loaded.groups == space.groups
    assert loaded.rows() == space.rows()
    assert [(c.text, c.errors) for c in loaded.constraints] == [(c.text, c.errors) for c in space.constraints]


@pytest.mark.parametrize("content", [b"", b"{}", b"PK\x03\x04 damaged", b"\x80\x04N."])
def test_file_that_holds_no_space_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "other.npz").write_bytes(content)
    with pytest.raises(SpaceError, match=r"other\.npz"):
        SearchSpace.load(tmp_path / "other.npz")


def test_pickled_space_is_the_same_and_keeps_functions_as_text() -> None:
    space = SearchSpace({"x": [1, 2, 3], "y": [1, 2]}, [lambda x, y: x > y, "x < 9"])
    again = pickle.loads(pickle.dumps(space))  # noqa: S301 - our own
    assert again == space
    assert [constraint.text for constraint in again.constraints] == ["<lambda>(x, y)", "x < 9"]
    assert again.neighbors(0) == space.neighbors(0)


def test_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="nowhere"):
        SearchSpace.load(tmp_path / "nowhere")
    with pytest.raises(SpaceError, match="cannot be written"):
        SearchSpace({"x": [1]}).save(tmp_path / "no" / "folder")


@pytest.mark.parametrize(
    "space",
    [
        SearchSpace({"x": range(5), "y": range(4), "z": ["a", "b", "c"]}, ["x + y < 6", "x > 0 or z == 'a'"]),
        SearchSpace({"x": range(5), "free": range(4), "y": range(4), "other": ["a", "b"]}, ["x + y < 6"]),
        SearchSpace({f"p{k}": range(10) for k in range(20)}, [f"p{k} == p{k + 1}" for k in range(18)]),
        SearchSpace({}),
    ],
    ids=["one group", "several groups", "a wide group", "no parameters"],
)
def test_value_indices_and_ids_lead_to_each_other(space: SearchSpace) -> None:
    rows = [space.code_row(i) for i in range(space.size)]
    assert rows == [tuple(row) for row in space.codes.tolist()]
    assert [space.find_codes(row) for row in rows] == list(range(space.size))
    valid = set(rows)
    rng = Random(1)
    for _ in range(200):
        codes = tuple(rng.randrange(len(values)) for values in space.parameters.values())
        assert (space.find_codes(codes) is not None) == (codes in valid)


def test_value_indices_are_found_in_groups_beyond_the_listed_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunewright.space.group.LISTED", 3)
    space = SearchSpace({"x": range(5), "y": range(5)}, ["x <= y"])
    assert [space.find_codes(space.code_row(i)) for i in range(space.size)] == list(range(space.size))
    assert space.find_codes((4, 0)) is None
    assert space.find_codes((4, 3)) is None
