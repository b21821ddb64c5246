"""The conformance suite finds each kind of broken promise."""

import itertools
import random
from collections.abc import Sequence

import pytest

from tunewright.budget import Clock
from tunewright.errors import OptimizerError
from tunewright.plan import Plan
from tunewright.space import SearchSpace
from tunewright.testing import check_optimizer

_counter = itertools.count()


def unseeded(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
    while True:
        yield [(next(_counter) * 7) % space.size]


def out_of_bounds(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
    yield list(start)
    for i in range(space.size + 1):
        yield [i]
    yield [space.size]


def hash_dependent(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
    yield list(start)
    yield list(start)
    names = {f"configuration {i}" for i in range(space.size)}
    for name in names:
        yield [int(name.split()[1])]


def absolute(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
    yield list(start)
    order = range(space.size)
    costs = yield [0]
    if costs[0] > 1000:
        order = order[::-1]
    for i in order:
        yield [i]


def gives_up(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
    yield list(start)
    yield [0]


def ignores_start(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
    for i in range(space.size):
        yield [i]


def logarithmic(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
    yield list(start)
    for i in range(space.size):
        [cost] = yield [i]
        if cost <= 0:
            raise ValueError("costs must be positive")


@pytest.mark.parametrize(
    ("optimizer", "promise"),
    [
        (unseeded, "same seed, same proposals"),
        (hash_dependent, "hash seed"),
        (absolute, "the proposals change"),
        (gives_up, "finished after 1 evaluations"),
        (ignores_start, "start first"),
        (logarithmic, "costs must be positive"),
    ],
)
def test_each_broken_promise_is_named(optimizer: object, promise: str) -> None:
    with pytest.raises(OptimizerError, match=promise):
        check_optimizer(optimizer)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("optimizer", "exempt"),
    [
        (absolute, {"scale", "shift"}),
        (gives_up, {"ends_early", "start"}),
        (ignores_start, {"start"}),
        (logarithmic, {"negative"}),
    ],
)
def test_a_declared_exemption_is_respected(optimizer: object, exempt: set[str]) -> None:
    check_optimizer(optimizer, exempt=exempt)  # type: ignore[arg-type]


def test_an_unknown_exemption_is_refused() -> None:
    with pytest.raises(OptimizerError, match="unknown exemptions"):
        check_optimizer(ignores_start, exempt={"everything"})


def test_a_function_that_cannot_be_imported_is_said_to_be_half_checked() -> None:
    def local(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int] = ()) -> Plan:
        yield list(start)
        for i in range(space.size):
            yield [i]

    assert any("hash seeds were not checked" in remark for remark in check_optimizer(local))
