"""Situations that users of other tuners reported, and what happens here; ids as in the case list."""

from __future__ import annotations

import json
import tracemalloc
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tunewright.errors import EmptySpaceError, ParameterError, SpaceError
from tunewright.space import RESERVED_NAMES, SearchSpace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_u001_function_sees_the_variables_and_helpers_around_it() -> None:
    n = 48

    def chunk(v: int, t: int) -> int:
        return v * t

    tune_params = {"vec": [1, 2, 4], "thr": [4, 8, 16, 32]}
    space = SearchSpace(tune_params, [lambda p: n % chunk(p["vec"], p["thr"]) == 0])
    assert len(space) == 6
    assert space.constraints[0].parameters == ("vec", "thr")


@pytest.mark.parametrize("text", ["(a * b <= 16)", "a * b <= 16", "((a*b)<=(16))", "not (a*b > 16)"])
def test_u003_brackets_do_not_change_a_constraint(text: str) -> None:
    space = SearchSpace({"a": [1, 2, 4, 8], "b": [1, 2, 4, 8]}, [text])
    assert len(space) == 13
    assert all(space.config(other)["a"] * space.config(other)["b"] <= 16 for other in space.neighbors(0))


def test_u005_reserved_names_are_refused_and_listed() -> None:
    with pytest.raises(ParameterError, match="reserved name") as caught:
        SearchSpace({"time": [1, 2], "grid_size_x": [1, 2]})
    assert all(name in str(caught.value) for name in RESERVED_NAMES)


@pytest.mark.parametrize("name", ["grid_size_x", "runtime_ms", "max", "class", "float", "while", "2x", "a b", ""])
def test_u005_unusable_name_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=repr(name)):
        SearchSpace({name: [1, 2]})


def test_u008_chain_of_equalities_leaves_six_of_two_thousand_million() -> None:
    parameters = {f"p{i}": [1, 2, 4, 8, 16, 32] for i in range(12)}
    tracemalloc.start()
    try:
        space = SearchSpace(parameters, [f"p{i + 1} == p{i}" for i in range(11)])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert space.cartesian == 2_176_782_336
    assert [set(space.config(i).values()) for i in range(space.size)] == [{1}, {2}, {4}, {8}, {16}, {32}]
    assert peak < 20e6


def test_u010_fifty_samples_of_a_free_space_take_little_memory() -> None:
    tracemalloc.start()
    try:
        space = SearchSpace({f"p{i}": list(range(16)) for i in range(7)})
        rng = Random(1)
        drawn = [space.config(space.sample(rng)) for _ in range(50)]
        around = [space.neighbors(space.find(config) or 0) for config in drawn]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert space.size == 16**7
    assert {len(ids) for ids in around} == {7 * 15}
    assert peak < 5e6


def test_u011_division_by_zero_makes_a_configuration_invalid_and_is_noted_once() -> None:
    space = SearchSpace({"LS": [0, 1, 2, 3, 4], "WPT": [0, 1, 2, 3, 4]}, ["4 % LS == 0", "(4 // LS) % WPT == 0"])
    assert len(space) == 6
    assert [constraint.errors for constraint in space.constraints] == [1, 9]
    assert space.notes == (
        "constraint '4 % LS == 0' divides by zero for 1 of 5 combinations of LS; they count as invalid",
        (
            "constraint '(4 // LS) % WPT == 0' divides by zero for 9 of 25 combinations of LS, WPT; "
            "they count as invalid"
        ),
    )


def test_u012_device_limits_are_constants_of_constraints() -> None:
    space = SearchSpace(
        {"TS": [16, 32, 64, 128], "BUF": [1, 2]},
        ["TS * TS * 4 * BUF <= max_shared"],
        constants={"max_shared": 49152},
    )
    assert len(space) == 6


def test_u013_largest_value_need_not_be_valid() -> None:
    space = SearchSpace({"MWG": [16, 32, 64, 128]}, ["m % MWG == 0"], constants={"m": 32})
    assert [space.config(i)["MWG"] for i in range(len(space))] == [16, 32]


def test_u014_functions_made_in_a_loop_bind_their_default() -> None:
    tune_params = {f"T{i}": [1, 2, 3, 4] for i in range(3)}
    rules: list[Callable[..., bool]] = []
    for i in range(2):
        rules.append(lambda p, i=i: p[f"T{i + 1}"] % p[f"T{i}"] == 0)  # noqa: PERF401 - the user's form
    space = SearchSpace(tune_params, rules)
    assert len(space) == 13
    assert [constraint.parameters for constraint in space.constraints] == [("T0", "T1"), ("T1", "T2")]
    assert space == SearchSpace(tune_params, [f"T{i + 1} % T{i} == 0" for i in range(2)])


def test_u015_saved_space_comes_back_the_same_without_evaluating_anything(tmp_path: Path) -> None:
    calls = []

    def rule(x: int, y: int) -> bool:
        calls.append((x, y))
        return x <= y

    space = SearchSpace({"x": [1, 2, 4], "y": [1, 2, 4]}, [rule, "x + y < limit"], constants={"limit": 7})
    space.save(tmp_path / "space.npz")
    before = len(calls)
    loaded = SearchSpace.load(tmp_path / "space.npz")
    assert len(calls) == before
    assert loaded == space
    assert loaded.digest == space.digest
    assert [loaded.config(i) for i in range(len(loaded))] == [space.config(i) for i in range(len(space))]
    assert [constraint.text for constraint in loaded.constraints] == ["rule(x, y)", "x + y < limit"]
    assert loaded.why_invalid({"x": 4, "y": 4}) == ["x + y < limit"]


def test_u016_dependent_tiles_give_distinct_valid_configurations() -> None:
    space = SearchSpace({"A": [2, 3, 4], "B": [2, 3, 4], "W": list(range(2, 25))}, ["W % A == 0", "W % B == 0"])
    assert len(space) == 50
    chosen = space.spread(20)
    assert len(set(chosen)) == 20
    assert all(c["W"] % c["A"] == c["W"] % c["B"] == 0 for c in map(space.config, chosen))


def test_u017_strings_are_compared_in_constraints() -> None:
    space = SearchSpace(
        {"mode": ["flat", "persist", "interleave"], "bm": [16, 32, 64], "bn": [32, 64, 128]},
        ["mode != 'interleave'", "bn // bm == 2"],
    )
    assert len(space) == 6
    assert space.cartesian == 27


def test_u019_default_that_breaks_a_rule_is_told_which_and_shown_a_valid_one() -> None:
    space = SearchSpace({"x": [0, 1, 2, 3], "y": [0, 1, 2, 3]}, ["x != y"])
    assert len(space) == 12
    with pytest.raises(
        SpaceError, match=r"default configuration \(x=2, y=2\) is not valid: it breaks x != y.*x=1, y=2"
    ):
        space.require({"x": 2, "y": 2})
    assert space.require({"x": 2, "y": 3}) == space.find({"x": 2, "y": 3})


def test_u020_equal_rules_are_merged() -> None:
    space = SearchSpace({"lo": [0, 1, 2], "hi": [0, 1, 2]}, ["lo <= hi", "lo <= hi", "lo<=hi"])
    assert len(space) == 6
    assert [constraint.text for constraint in space.constraints] == ["lo <= hi"]


def test_u022_tuple_values_are_refused_when_the_space_is_made() -> None:
    with pytest.raises(ParameterError, match=r"'tile' has the value \(16, 16\).*one parameter per component"):
        SearchSpace(
            {"tile": [(16, 16), (32, 8)], "u": [1, 2]},
            [lambda p: p["tile"][0] * p["tile"][1] * p["u"] <= 256],
        )


def test_u023_list_values_are_refused_when_the_space_is_made() -> None:
    with pytest.raises(ParameterError, match=r"'order' has the value \[0, 1\], a list"):
        SearchSpace({"order": [[0, 1], [1, 0]], "n": [1, 2]})


def test_u024_difference_of_value_lists_is_spelled_out() -> None:
    difference = SearchSpace({"algo": ["a", "b"]}).difference(SearchSpace({"algo": ["b", "c"]}))
    assert difference
    assert str(difference) == "algo (values added: 'c', removed: 'a')"
    assert dict(difference.values_added) == {"algo": ("c",)}
    assert dict(difference.values_removed) == {"algo": ("a",)}


def test_u025_numpy_values_become_plain_ones() -> None:
    space = SearchSpace(
        {
            "x": list(np.array([16, 32, 64], dtype=np.int64)),
            "f": [np.float32(0.5)],
            "b": [np.bool_(True), False],
            "s": np.array(["u"]),
            "r": np.arange(1),
        }
    )
    config = space.config(0)
    assert len(space) == 6
    assert [type(value) for value in config.values()] == [int, float, bool, str, int]
    assert json.loads(json.dumps(config)) == config
    assert str(config["x"]) == "16"


def test_u026_empty_space_says_what_each_rule_removes() -> None:
    with pytest.raises(EmptySpaceError) as caught:
        SearchSpace({"x": [1, 2, 3]}, ["x > 5"])
    assert "no configuration is left" in str(caught.value)
    assert "no configuration satisfies 'x > 5'" in str(caught.value)
    assert "x > 5: alone removes 3 of 3" in str(caught.value)


def test_u026_rules_that_exclude_each_other_are_counted_apart() -> None:
    with pytest.raises(EmptySpaceError, match="each can be satisfied alone") as caught:
        SearchSpace({"x": [1, 2, 3], "y": [1, 2]}, ["x > 2", "x < 2"])
    assert "x > 2: alone removes 4 of 6" in str(caught.value)
    assert "x < 2: alone removes 4 of 6" in str(caught.value)


@pytest.mark.parametrize("number", ["U003", "U008", "U011", "U012", "U013", "U016", "U017", "U019", "U020"])
def test_case_list_counts_agree(number: str, case: dict[str, dict[str, Any]]) -> None:
    """The inputs as the case list states them, U003 to U020."""
    stated = case[number]
    space = SearchSpace(stated["tune_params"], stated["restrictions"], constants=stated.get("constants", {}))
    assert space.size == stated["expect_valid"]
