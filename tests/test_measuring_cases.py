"""Area 3: figures that mislead, as users met them, on made-up samples."""

import random
from statistics import fmean, median

import pytest

from tunewright.decide import decide
from tunewright.measure import NOISY, Measurement, Objective, Status
from tunewright.runners.noise import is_bimodal, noise_remarks

SAMPLES_MS = {
    384: [0.103, 0.104, 0.106, 0.102, 0.105],
    192: [0.101, 0.108, 0.103, 0.102, 0.107],
    256: [0.103, 0.102, 0.110, 0.104, 0.101],
    960: [0.150, 0.151, 0.149, 0.152, 0.150],
}


def test_u053_what_noise_does_not_separate_is_one_group_and_the_slower_one_is_not_in_it() -> None:
    decision = decide(SAMPLES_MS, default=None)
    assert decision is not None
    assert {decision.best.id, *(tie.id for tie in decision.ties)} == {384, 192, 256}


def test_u055_leaders_measured_again_end_nearer_to_the_best_than_the_luckiest_sample() -> None:
    true_us = [10.0 + 0.2 * k / 199 for k in range(200)]
    lucky, decided = [], []
    for seed in range(60):
        rng = random.Random(seed)
        once = [rng.gauss(us, 0.3) for us in true_us]
        leaders = sorted(range(200), key=once.__getitem__)[:10]
        decision = decide({i: [rng.gauss(true_us[i], 0.3) for _ in range(30)] for i in leaders}, default=None)
        assert decision is not None
        lucky.append(true_us[leaders[0]])
        decided.append(true_us[decision.best.id])
        assert decision.ties, "differences of 0.02 us under noise of 0.3 us are ties and called so"
    assert fmean(decided) < fmean(lucky)


def test_u056_a_clock_that_still_rises_does_not_separate_equal_kernels() -> None:
    clock = [1.30, 1.0, *[1.0] * 16]  # the first round of the first kernel is still slow
    rounds = {0: [10.0 * factor for factor in clock[0::2]], 1: [10.0 * factor for factor in clock[1::2]]}
    decision = decide(rounds, default=0)
    assert decision is not None
    assert decision.speedup == pytest.approx(1.0, abs=0.01)
    assert decision.ties


def test_u062_few_samples_of_a_disturbed_kernel_are_marked_unreliable() -> None:
    assert NOISY in noise_remarks([16.0, 19.5, 18.2], cpu_ms=0.08)
    assert noise_remarks([0.080, 0.081, 0.080, 0.082, 0.080], cpu_ms=0.08) == ()


def test_two_groups_of_samples_are_noticed_and_one_outlier_is_not() -> None:
    rng = random.Random(1)
    low, high = [rng.gauss(1.0, 0.005) for _ in range(12)], [rng.gauss(1.2, 0.005) for _ in range(8)]
    assert is_bimodal([*low, *high])
    assert not is_bimodal([*low, 1.2])
    assert not is_bimodal([rng.gauss(1.0, 0.05) for _ in range(20)])


def test_u067_the_parts_of_the_tuning_clock_add_up_and_are_never_negative() -> None:
    measured = Measurement(Status.OK, (4.0,), compile_s=4.0, verify_s=4.0, benchmark_s=2.0)
    assert measured.total_s == measured.compile_s + measured.verify_s + measured.benchmark_s == 10.0
    with pytest.raises(Exception, match="not negative"):
        Measurement(Status.OK, (4.0,), benchmark_s=-6.0)


def test_u061_a_time_that_is_no_time_has_no_speedup() -> None:
    assert Objective().value(Measurement(Status.INVALID, (), detail="a time of 0")) == float("inf")
    decision = decide({0: [0.0] * 9, 1: [0.4] * 9}, default=1)
    assert decision is not None
    assert decision.speedup is None, "no division by zero"
    assert median([0.0] * 9) == 0.0
