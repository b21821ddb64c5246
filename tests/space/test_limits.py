"""Degenerate and damaged input: no parameters, lists without end, rules that never answer, bytes that changed."""

from __future__ import annotations

import functools
import pickle
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tunewright.errors import ConstraintError, EmptySpaceError, OptionError, ParameterError, SpaceError
from tunewright.space import Constraint, SearchSpace, parameters

if TYPE_CHECKING:
    from pathlib import Path


def test_no_parameters_make_one_configuration_the_empty_one(tmp_path: Path) -> None:
    """Case U087: a kernel without anything to tune."""
    space = SearchSpace({})
    assert (len(space), space.cartesian, space.names, space.groups) == (1, 1, (), ())
    assert space.config(0) == {}
    assert space.find({}) == space.nearest({}) == space.require({}) == space.sample(Random(1)) == 0
    assert space.why_invalid({}) == []
    assert [space.neighbors(0, kind) for kind in ("single", "step", "box")] == [(), (), ()]
    assert space.codes.shape == space.codes_of([0]).shape == (1, 0)
    assert space.numeric.shape == (1, 0)
    assert space.rows() == [()]
    assert (space.spread(0), space.spread(3)) == ([], [0])
    assert repr(space) == "SearchSpace(1 of 1 configurations of no parameters)"
    space.save(tmp_path / "empty.npz")
    others = [space.fix(), SearchSpace.load(tmp_path / "empty.npz"), pickle.loads(pickle.dumps(space))]  # noqa: S301
    others += [SearchSpace.from_configurations({}, rows) for rows in ([()], [{}])]
    assert all(other == space and other.config(0) == {} for other in others)


def test_no_parameters_never_match_another_space() -> None:
    """Case U087: an empty record was taken for another kernel's."""
    space = SearchSpace({})
    assert space != SearchSpace({"x": [1]})
    with pytest.raises(SpaceError, match="unknown parameters x; the parameters are none"):
        space.find({"x": 1})
    with pytest.raises(SpaceError, match="ids are 0 to 0"):
        space.config(1)


def test_constraints_apply_without_parameters() -> None:
    assert len(SearchSpace({}, ["limit > 1"], constants={"limit": 2})) == 1
    with pytest.raises(EmptySpaceError, match="limit > 2: alone removes 1 of 1"):
        SearchSpace({}, ["limit > 2"], constants={"limit": 2})
    with pytest.raises(ConstraintError, match="KeyError: 'zzz' for the empty configuration"):
        SearchSpace({}, [lambda config: config["zzz"]])


def test_the_empty_configuration_given_twice_is_refused() -> None:
    with pytest.raises(SpaceError, match="given 2 times"):
        SearchSpace.from_configurations({}, [(), {}])


@pytest.mark.parametrize("values", [range(10**12), range(10**30), range(1_000_001)])
def test_a_value_list_beyond_the_limit_is_refused_before_it_is_made(values: range) -> None:
    with pytest.raises(ParameterError, match=r"parameter 'v' has .* more than 1,000,000"):
        SearchSpace({"v": values})


def test_the_limit_holds_for_arrays_and_lists_and_includes_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "MAX_VALUES", 5)
    for values in (list(range(6)), np.arange(6)):
        with pytest.raises(ParameterError, match="has 6 values, more than 5"):
            SearchSpace({"v": values})
    assert len(SearchSpace({"v": np.arange(5)})) == 5


def test_rows_may_be_mappings_in_any_order() -> None:
    lists = {"a": [1, 2], "b": ["x", "y"]}
    space = SearchSpace.from_configurations(lists, [{"b": "y", "a": 1}, (2, "x"), {"a": 2, "b": "y"}])
    assert space == SearchSpace.from_configurations(lists, [(1, "y"), (2, "x"), (2, "y")])
    assert space.config(0) == {"a": 1, "b": "y"}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": 1}], "configuration 0 names a; the parameters are a, b"),
        ([(1, "x"), {"a": 1, "b": "x", "c": 2}], "configuration 1 names a, b, c"),
        ([{"a": 1, "b": "z"}], "b = 'z' is not one of its values"),
        ([3], "configuration 0 is 3; give a tuple"),
        (["1x"], "configuration 0 is '1x'"),
        ({"a": 1, "b": "x"}, "give a list of rows"),
        (None, "give a list of rows"),
    ],
)
def test_rows_that_are_no_configurations_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        SearchSpace.from_configurations({"a": [1, 2], "b": ["x", "y"]}, rows)


def test_a_damaged_file_is_a_space_error_wherever_it_is_damaged(tmp_path: Path) -> None:
    space = SearchSpace({"x": [1, 2, 3], "y": ["a", "b"]}, ["x > 1 or y == 'a'"])
    whole = tmp_path / "space.npz"
    space.save(whole)
    data = whole.read_bytes()
    broken = tmp_path / "broken.npz"
    refused = 0
    for place in range(len(data)):
        for mask in (0x01, 0xFF):
            broken.write_bytes(data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])
            try:
                assert SearchSpace.load(broken) == space
            except SpaceError as error:
                assert str(broken) in str(error)  # noqa: PT017 - some flips change nothing that is read
                refused += 1
    assert refused > len(data)


def test_files_of_another_kind_are_space_errors(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.arange(3))
    np.savez(tmp_path / "other.npz", header=np.zeros(3))
    (tmp_path / "empty.npz").write_bytes(b"")
    for name in ("array.npy", "other.npz", "empty.npz"):
        with pytest.raises(SpaceError, match=f"{name}: this is no search space"):
            SearchSpace.load(tmp_path / name)


def test_a_rule_that_divides_by_zero_everywhere_says_so() -> None:
    with pytest.raises(EmptySpaceError) as caught:
        SearchSpace({"x": [1, 2], "n": [3, 4]}, ["x % (n - n) == 0", "x > 0"])
    assert "satisfies 'x % (n - n) == 0' (it divides by zero for all 4 combinations)" in str(caught.value)
    assert "x % (n - n) == 0: alone removes 4 of 4, divides by zero for all 4 combinations" in str(caught.value)
    assert str(caught.value).endswith("x > 0: alone removes 0 of 4")


def test_a_function_that_divides_by_zero_everywhere_says_so() -> None:
    with pytest.raises(EmptySpaceError, match="ends in an arithmetic error for all 2 combinations"):
        SearchSpace({"x": [1, 2]}, [lambda x: x // 0])


def test_a_rule_that_divides_by_zero_in_part_says_for_how_many() -> None:
    with pytest.raises(EmptySpaceError, match="removes 3 of 3, divides by zero for 1 of 3 combinations"):
        SearchSpace({"n": [0, 1, 2]}, ["1 % n > 1"])


def test_a_function_that_fails_before_it_reads_anything_shows_a_configuration() -> None:
    with pytest.raises(ConstraintError, match="raised KeyError: 'zzz' for a=1, b='x'; "):
        SearchSpace({"a": [1, 2], "b": ["x"]}, [lambda config: config["zzz"]])


async def _later(x: int) -> bool:
    return x > 1


def _one_by_one(config: Mapping[str, Any]) -> Iterator[bool]:
    yield config["x"] > 1


async def _one_by_one_later(x: int) -> AsyncIterator[bool]:
    yield x > 1


class _Later:
    async def __call__(self, x: int) -> bool:
        return x > 1


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (_later, "an async function"),
        (_one_by_one, "a generator function"),
        (_one_by_one_later, "an async generator function"),
        (_Later(), "an async function"),
        (functools.partial(_later), "an async function"),
        (Constraint(_later, parameters=("x",)), "an async function"),
    ],
)
def test_a_function_whose_answer_comes_later_is_refused(rule: Any, kind: str) -> None:
    with pytest.raises(ConstraintError, match=f"is {kind}, .*write a plain function"):
        SearchSpace({"x": [1, 2]}, [rule])


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("a > 1, b > 1", "write 'a > 1 and b > 1', or several constraints"),
        ("(a > 1,)", "write 'a > 1'"),
        ("[a > 1, b > 1]", "write 'a > 1 and b > 1'"),
        ("()", "write a condition"),
    ],
)
def test_several_conditions_in_one_text_are_refused(text: str, advice: str) -> None:
    with pytest.raises(ConstraintError, match=advice):
        SearchSpace({"a": [1, 2], "b": [1, 2]}, [text])


@pytest.mark.parametrize("n", [2.5, None, "2"])
def test_spread_takes_whole_numbers(n: Any) -> None:
    with pytest.raises(OptionError, match="give a whole number"):
        SearchSpace({"x": [1, 2, 3]}).spread(n)


def test_spread_takes_numpy_integers_and_zero() -> None:
    space = SearchSpace({"x": [1, 2, 3]})
    assert len(space.spread(np.int64(2))) == 2
    assert space.spread(0) == []


@pytest.mark.parametrize("question", ["find", "nearest", "why_invalid", "require"])
@pytest.mark.parametrize("config", [None, 3, [1], "x"])
def test_what_is_no_configuration_is_refused(question: str, config: int | str | Sequence[int] | None) -> None:
    with pytest.raises(SpaceError, match="a configuration maps parameter names to values"):
        getattr(SearchSpace({"x": [1, 2]}), question)(config)
