"""Results are compared with tolerances that follow dtype and size, and differences are described."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunewright.kernel.spec import Argument, Role, Verification
from tunewright.runners.arrays import Buffers
from tunewright.runners.verify import Expected


def difference(expected, got, verification=None):
    """What is said about an out array `c` that holds `got`."""
    got = np.asarray(got)
    expected = np.asarray(expected, got.dtype)
    buffers = Buffers([Argument(name="c", dtype=str(got.dtype), shape=got.shape, role=Role.OUT)], {})
    try:
        os.pwrite(buffers.target_fd, got.tobytes(), 0)
        return Expected({0: expected}, buffers, verification or Verification()).difference()
    finally:
        buffers.close()


def f32(*values):
    return np.array(values, np.float32)


@given(st.lists(st.floats(width=32), min_size=1, max_size=20))
def test_equal_arrays_never_differ_whatever_they_hold(values):
    assert difference(f32(*values), f32(*values)) == ""


@given(st.integers(1, 200_000), st.data())
def test_one_wrong_value_is_found_wherever_it_is(size, data):
    place = data.draw(st.integers(0, size - 1))
    got = np.ones(size, np.float32)
    got[place] = 1.1
    assert f"1 of {size:,} values wrong, first at [{place}]: got 1.1" in difference(np.ones(size), got)


def test_the_tolerance_grows_with_the_square_root_of_the_longest_extent():
    eps = float(np.finfo(np.float32).eps)
    for size, allowed in ((4, 64 * eps), (1024, 1024 * eps)):
        expected = np.ones(size, np.float32)
        assert difference(expected, (expected * (1 + 1.8 * allowed)).astype(np.float32)) == ""
        assert difference(expected, (expected * (1 + 2.2 * allowed)).astype(np.float32)) != ""


def test_values_near_zero_are_judged_by_the_size_of_the_array_as_a_whole():
    assert difference(f32(1, 1, 1, 0), f32(1, 1, 1, 1e-6)) == ""
    assert difference(f32(0, 0, 0, 0), f32(0, 0, 0, 1e-6)) != ""


def test_given_tolerances_are_used():
    loose = Verification(rtol=0.1, atol=0.0)
    assert difference(f32(10), f32(10.9), loose) == ""
    assert difference(f32(10), f32(11.1), loose) != ""


def test_integers_must_be_equal_whatever_the_tolerance():
    loose = Verification(rtol=1.0, atol=100.0)
    assert difference([1, 2], np.array([1, 3], np.int32), loose) != ""


def test_an_infinite_expectation_is_met_only_by_itself():
    inf = float("inf")
    assert difference(f32(inf, -inf), f32(inf, -inf)) == ""
    assert difference(f32(inf, 1), f32(1e30, 1)) != ""
    assert difference(f32(inf, 1), f32(-inf, 1)) != ""
    assert difference(f32(1, 1), f32(inf, 1)) != ""


def test_nan_is_wrong_unless_it_is_expected():
    nan = float("nan")
    assert "got NaN, expected 1" in difference(f32(1), f32(nan))
    assert difference(f32(nan, 1), f32(nan, 1)) == ""
    assert difference(f32(nan, 1), f32(0, 1)) != ""


def test_what_was_never_written_is_said_so():
    poison = np.full(8, 0xFFFFFFFF, np.uint32).view(np.float32)
    assert difference(np.ones(8), poison) == "out array c: all 8 values left unwritten"
    poison[:5] = 1
    assert difference(np.ones(8), poison).endswith("3 left unwritten")


@pytest.mark.parametrize("poison", [0xA5, 0x5A])
def test_an_integer_that_the_right_result_leaves_alone_may_hold_either_pattern(poison):
    alone = np.array([0xA5A5A5A5, 7], np.uint32)
    assert difference(alone, np.array([poison * 0x01010101, 7], np.uint32)) == ""
    assert difference(alone, np.array([8, 7], np.uint32)) != ""


def test_the_place_is_given_in_all_dimensions():
    got = np.zeros((3, 4, 5), np.int64)
    got[1, 2, 3] = 9
    assert "first at [1, 2, 3]: got 9, expected 0" in difference(np.zeros((3, 4, 5)), got)
