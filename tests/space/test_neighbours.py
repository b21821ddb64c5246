"""Neighbourhoods are those of the definition, whatever the constraints and the groups."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tunewright.errors import OptionError, SpaceError, SpaceTooLargeError
from tunewright.space import SearchSpace, group

RULES = (
    "a <= b",
    "a * b % 3 != 1",
    "c == 0 or d > 1",
    "d != 2",
    "b + c < 7",
    "a + d != 3",
    "a + b + c + d < 10",
)


@st.composite
def spaces(draw: st.DrawFn) -> tuple[dict[str, list[int]], list[str]]:
    sizes = draw(st.lists(st.integers(1, 5), min_size=4, max_size=4))
    rules = draw(st.lists(st.sampled_from(RULES), max_size=3, unique=True))
    return {name: list(range(size)) for name, size in zip("abcd", sizes, strict=True)}, rules


def by_definition(codes: np.ndarray, row: int, kind: str) -> tuple[int, ...]:
    moved = codes != codes[row]
    if kind == "single":
        return tuple(np.flatnonzero(moved.sum(axis=1) == 1).tolist())
    if kind == "box":
        near = np.abs(codes - codes[row]).max(axis=1) <= 1
        return tuple(np.flatnonzero(near & moved.any(axis=1)).tolist())
    found = set()
    for column in range(codes.shape[1]):
        line = np.flatnonzero((moved.sum(axis=1) == 1) & moved[:, column])
        above = [i for i in line if codes[i, column] > codes[row, column]]
        below = [i for i in line if codes[i, column] < codes[row, column]]
        if above:
            found.add(int(min(above, key=lambda i: codes[i, column])))
        if below:
            found.add(int(max(below, key=lambda i: codes[i, column])))
    return tuple(sorted(found))


@pytest.mark.parametrize("narrow", [2**62, 0], ids=["integer keys", "byte keys"])
@pytest.mark.parametrize("kind", ["single", "step", "box"])
def test_neighbours_are_those_of_the_definition(kind: str, narrow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "NARROW", narrow)

    @settings(max_examples=60, deadline=None)
    @given(spaces())
    def check(stated: tuple[dict[str, list[int]], list[str]]) -> None:
        space = SearchSpace(*stated)
        codes = space.codes
        for number in range(len(space)):
            assert space.neighbors(number, kind) == by_definition(codes, number, kind)
            assert space.neighbors(number, kind) is space.neighbors(number, kind)

    check()


@pytest.mark.parametrize("narrow", [2**62, 0], ids=["integer keys", "byte keys"])
def test_ids_and_configurations_map_to_each_other(narrow: int, monkeypatch: pytest.MonkeyPatch, listed: Any) -> None:
    monkeypatch.setattr(group, "NARROW", narrow)

    @settings(max_examples=60, deadline=None)
    @given(spaces())
    def check(stated: tuple[dict[str, list[int]], list[str]]) -> None:
        space = SearchSpace(*stated)
        assert [space.find(space.config(number)) for number in range(len(space))] == list(range(len(space)))
        assert listed(space) == space.rows()
        assert space.codes_of(range(len(space))).tolist() == space.codes.tolist()
        assert space.codes.tolist() == [list(row) for row in space.rows()]

    check()


def test_box_of_a_large_product_is_refused() -> None:
    space = SearchSpace({f"p{i}": [0, 1, 2] for i in range(13)})
    middle = space.find(dict.fromkeys(space.names, 1))
    assert middle is not None
    with pytest.raises(SpaceTooLargeError, match="1,594,322 neighbours"):
        space.neighbors(middle, "box")


def test_box_within_the_limit_is_complete() -> None:
    space = SearchSpace({f"p{i}": [0, 1, 2] for i in range(6)})
    middle = space.find(dict.fromkeys(space.names, 1))
    assert middle is not None
    assert space.neighbors(middle, "box") == tuple(i for i in range(3**6) if i != middle)


def test_unknown_neighbourhood_is_refused_with_the_kinds() -> None:
    with pytest.raises(OptionError, match=r"'hamming'; choose one of single, step, box"):
        SearchSpace({"x": [1, 2]}).neighbors(0, "hamming")


@pytest.mark.parametrize("number", [-1, 2, 10**30])
def test_id_outside_the_space_is_refused(number: int) -> None:
    space = SearchSpace({"x": [1, 2]})
    for question in (space.config, space.neighbors):
        with pytest.raises(SpaceError, match="ids are 0 to 1"):
            question(number)


def test_id_that_is_no_integer_is_refused() -> None:
    with pytest.raises(SpaceError, match=r"an integer, not 0\.5"):
        SearchSpace({"x": [1, 2]}).config(0.5)  # type: ignore[arg-type]


def test_huge_space_is_counted_sampled_and_walked_unlisted() -> None:
    parameters = {f"p{i}": list(range(1, 33)) for i in range(24)}
    rules = [f"p{i} * p{i + 1} <= 64" for i in range(0, 24, 2)]
    space = SearchSpace(parameters, rules)
    pairs = sum(a * b <= 64 for a in range(1, 33) for b in range(1, 33))
    assert space.size == pairs**12 > 2**63
    with pytest.raises(SpaceTooLargeError, match=r"use space\.size"):
        len(space)
    with pytest.raises(SpaceTooLargeError, match="codes_of"):
        _ = space.codes
    rng = Random(3)
    here = space.sample(rng)
    for _ in range(20):
        assert space.find(space.config(here)) == here
        around = space.neighbors(here)
        assert list(around) == sorted(set(around))
        here = rng.choice(around)
    assert space.codes_of([0, here]).shape == (2, 24)
    assert len(space.spread(30)) == 30


def test_samples_are_uniform() -> None:
    space = SearchSpace({"x": [0, 1, 2], "y": [0, 1, 2]}, ["x <= y"])
    rng = Random(0)
    counts = np.bincount([space.sample(rng) for _ in range(6000)], minlength=6)
    assert counts.min() > 850
    assert counts.max() < 1150


def test_many_queries_do_not_grow_the_cache_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunewright.space.factors.MAX_CACHED", 100)
    space = SearchSpace({"x": list(range(10)), "y": list(range(10))})
    answers = [space.neighbors(number) for number in range(100)]
    assert answers == [space.neighbors(number) for number in range(100)]
    assert sum(map(len, space._factors._cache["single"].values())) <= 200
