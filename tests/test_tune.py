"""The whole way: specification, compiler, isolated runs, search, final comparison, store."""

import resource
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tunewright.budget import Clock
from tunewright.errors import RunnerError
from tunewright.kernel import Argument, Kernel, Measuring, Role, Use, Verification
from tunewright.measure import Objective, Status, Stopped, Trial
from tunewright.plan import Plan
from tunewright.records import Store
from tunewright.runners.host import HostRunner
from tunewright.runners.stored import StoredRunner
from tunewright.space import SearchSpace
from tunewright.tune import tune

HOSTILE = {
    "NULL_WRITE": Status.CRASH, "ENDLESS": Status.TIMEOUT, "WRONG": Status.WRONG_RESULT,
    "NO_OUTPUT": Status.WRONG_RESULT, "PARTIAL": Status.WRONG_RESULT, "HUGE_PRINT": Status.CRASH,
    "HUGE_FILE": Status.CRASH, "FORK": Status.CRASH, "DOUBLE_FORK": Status.CRASH, "FORK_BOMB": Status.CRASH,
    "EXEC": Status.CRASH, "MEMORY_HOG": Status.CRASH, "ABORT": Status.CRASH, "STACK_OVERFLOW": Status.CRASH,
    "EXIT_0": Status.CRASH, "PAST_END": Status.CRASH, "WRITE_INPUT": Status.CRASH, "KILL_PARENT": Status.CRASH,
    "DIVIDE": Status.CRASH, "ILLEGAL": Status.CRASH, "DEAF": Status.TIMEOUT, "WRONG_LATER": Status.WRONG_RESULT,
    "NANS": Status.WRONG_RESULT, "COMPILE_ERROR": Status.COMPILE_ERROR, "NO_ENTRY": Status.LAUNCH_ERROR,
}  # fmt: skip
Make = Callable[..., Kernel]
WORK = """
void work(const float *x, float *out)
{
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < N; i++)
            out[i] = 2 * x[i];
}
"""


@pytest.fixture
def work(tmp_path: Path, compiler: str) -> Make:
    """A kernel whose time is proportional to PASSES."""
    source = tmp_path / "work.c"
    source.write_text(WORK)

    def make(*passes: int, **changes: object) -> Kernel:
        kernel = Kernel(
            name="work",
            source=source,
            entry="work",
            problem={"N": 20_000},
            arguments=[
                Argument(name="x", dtype="float32", shape=("N",)),
                Argument(name="out", dtype="float32", shape=("N",), role=Role.OUT),
            ],
            parameters={"PASSES": passes},
            flags=("-O1",),
            measuring=Measuring(sampling_s=0.02, rounds=6),
        )
        return replace(kernel, **changes)  # type: ignore[arg-type]

    return make


def test_hostile_configurations_are_reported_and_do_not_touch_the_best(
    hostile: Make, left_behind: Callable[[], list[int]]
) -> None:
    kernel = replace(hostile("GOOD", *HOSTILE, "GOOD_AGAIN"), default={"MODE": "GOOD"})
    run = tune(kernel, optimizer="random")
    status = {kernel.space.config(trial.id)["MODE"]: trial.measurement.status for trial in run.trials}
    assert status == {"GOOD": Status.OK, **HOSTILE, "GOOD_AGAIN": Status.OK}
    assert all(trial.measurement.detail for trial in run.trials if trial.measurement.status is not Status.OK)
    assert run.best is not None
    assert str(kernel.space.config(run.best.id)["MODE"]).startswith("GOOD")
    assert run.stopped is Stopped.EXHAUSTED
    assert left_behind() == []


def test_the_result_is_the_faster_one_with_its_speedup_and_no_false_tie(work: Make) -> None:
    kernel = work(60, 20, 40, default={"PASSES": 60})
    run = tune(kernel)
    assert run.decision is not None
    assert kernel.space.config(run.decision.best.id) == {"PASSES": 20}
    assert run.decision.ties == ()
    assert run.decision.speedup == pytest.approx(3.0, rel=0.4)
    assert run.decision.default is not None
    assert kernel.space.config(run.trials[0].id) == {"PASSES": 60}, "the default comes first"


def test_an_optimizer_that_ignores_the_start_still_has_the_default_measured(work: Make) -> None:
    def stubborn(space: SearchSpace, budget: Clock, rng: Random, *, start: Sequence[int] = ()) -> Plan:
        yield [2]

    kernel = work(30, 20, 10)
    run = tune(kernel, optimizer=stubborn)
    assert [trial.id for trial in run.trials] == [0, 2]
    assert run.decision is not None
    assert run.decision.default is not None


def test_u038_a_failing_default_does_not_stop_the_search(hostile: Make) -> None:
    run = tune(replace(hostile("ENDLESS", "GOOD"), default={"MODE": "ENDLESS"}))
    assert [trial.measurement.status for trial in run.trials] == [Status.TIMEOUT, Status.OK]
    assert run.best is not None
    assert run.decision is not None
    assert run.decision.default is None
    assert run.decision.speedup is None


def test_an_optimizer_that_raises_loses_no_result(work: Make) -> None:
    def broken(space: SearchSpace, budget: Clock, rng: Random, *, start: Sequence[int] = ()) -> Plan:
        yield [1]
        raise ValueError("no idea")

    run = tune(work(30, 20, 10), optimizer=broken)
    assert len(run.trials) == 2
    assert run.best is not None
    assert any("no idea" in note for note in run.notes)


def test_a_runner_that_gives_up_loses_no_result(work: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = HostRunner.measure
    calls = Counter[str]()

    def failing(self: HostRunner, ids: Sequence[int]) -> object:
        calls["measure"] += 1
        if calls["measure"] > 2:
            raise RunnerError("the disk is full")
        return measure(self, ids)

    monkeypatch.setattr(HostRunner, "measure", failing)
    run = tune(work(30, 20, 10), optimizer="random")
    assert len(run.trials) == 2
    assert run.stopped is Stopped.INTERRUPTED
    assert run.best is not None
    assert any("the disk is full" in note for note in run.notes)


def test_an_interrupt_while_the_leaders_are_measured_keeps_the_run(work: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: HostRunner, ids: Sequence[int], rounds: int) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(HostRunner, "remeasure", interrupted)
    run = tune(work(30, 20, 10))
    assert len(run.trials) == 3
    assert run.stopped is Stopped.INTERRUPTED
    assert run.best is not None
    assert run.decision is None


def test_u088_the_same_command_again_measures_nothing_and_finds_the_same(work: Make, tmp_path: Path) -> None:
    kernel = work(30, 20, 10)
    with Store(tmp_path / "store.sqlite") as store:
        first = tune(kernel, store=store)
        again = tune(kernel, store=store)
    assert [trial.measurement for trial in again.trials] == [trial.measurement for trial in first.trials]
    assert again.decision == first.decision
    assert any("3 measurements were known already" in note for note in again.notes)


def test_another_objective_or_default_is_another_question_with_a_decision_of_its_own(
    work: Make, tmp_path: Path
) -> None:
    kernel = work(30, 20, 10)
    with Store(tmp_path / "store.sqlite") as store:
        tune(kernel, store=store)
        slowest = tune(replace(kernel, objective=Objective(goal="max")), store=store)
        other = tune(replace(kernel, default={"PASSES": 10}), store=store)
    assert slowest.best_configuration == {"PASSES": 30}
    assert other.decision is not None
    assert other.decision.default is not None
    assert kernel.space.config(other.decision.default.id) == {"PASSES": 10}


def test_u042_u082_a_changed_source_is_measured_anew_and_a_grown_list_only_where_it_grew(
    work: Make, tmp_path: Path
) -> None:
    seen: list[Trial] = []
    with Store(tmp_path / "store.sqlite") as store:
        tune(work(30, 20), store=store)
        grown = tune(work(30, 20, 10), store=store, on_trial=seen.append)
        assert any("2 measurements were known already" in note for note in grown.notes)
        (tmp_path / "work.c").write_text(WORK + "/* changed */\n")
        changed = tune(work(30, 20), store=store)
        assert not any("known already" in note for note in changed.notes)
    assert len(seen) == 3


def test_u079_a_changed_header_of_the_kernel_is_a_changed_kernel(work: Make, tmp_path: Path) -> None:
    (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
    (tmp_path / "work.c").write_text('#include "factor.h"\n' + WORK.replace("2 * x", "FACTOR * x"))
    kernel = work(20, 10)
    digests = []
    for text in ("#define FACTOR 2\n", "#define FACTOR 3\n"):
        (tmp_path / "factor.h").write_text(text)
        with HostRunner(kernel) as runner:
            digests.append(runner.task.source_digest)
    assert digests[0] != digests[1]


def test_u032_a_configuration_that_is_clearly_slow_is_cut_short_and_marked(work: Make) -> None:
    kernel = work(1, 400, verification=Verification(skip=True))
    with HostRunner(kernel) as runner:
        fast, slow = runner.measure([0, 1])
    assert len(fast.runtimes_ms) >= 5
    assert len(slow.runtimes_ms) == 1
    assert slow.status is Status.OK
    assert slow.remarks == ("censored",)
    assert "cut short" in slow.detail


def test_a_resumed_run_cuts_short_and_confirms_as_it_would_have_without_a_break(work: Make, tmp_path: Path) -> None:
    kernel = work(200, 10, 1000, verification=Verification(skip=True))
    with Store(tmp_path / "store.sqlite") as store:
        with HostRunner(kernel) as runner:
            task = store.task(runner.task)
            known = StoredRunner(runner, store, task, kernel.space)
            [slow] = known.measure([0])
        with HostRunner(kernel) as runner:
            resumed = StoredRunner(runner, store, task, kernel.space)
            again, fast = resumed.measure([0, 1])
        with HostRunner(kernel) as runner:
            resumed = StoredRunner(runner, store, task, kernel.space)
            *_, slowest = resumed.measure([0, 1, 2])
    assert again == slow
    assert "confirmed" in fast.remarks, "much faster than what was known"
    assert slowest.remarks == ("censored",), "much slower than the best that was known"


def test_what_is_known_but_was_not_asked_for_cuts_nothing_short(work: Make, tmp_path: Path) -> None:
    kernel = work(1, 400, verification=Verification(skip=True))
    with Store(tmp_path / "store.sqlite") as store, HostRunner(kernel) as first, HostRunner(kernel) as second:
        task = store.task(first.task)
        StoredRunner(first, store, task, kernel.space).measure([0])
        [slow] = StoredRunner(second, store, task, kernel.space).measure([1])
    assert "censored" not in slow.remarks


def test_a_configuration_that_is_suspiciously_fast_is_run_twice_before_it_counts(work: Make) -> None:
    kernel = work(200, 10, 9)
    with HostRunner(kernel) as runner:
        slow, fast, little_faster = runner.measure([0, 1, 2])
    assert ["confirmed" in measured.remarks for measured in (slow, fast, little_faster)] == [False, True, False]


def test_sampling_ends_when_the_median_is_known_well_enough(work: Make) -> None:
    loose = Measuring(precision=10.0, samples_min=7, samples_max=400, sampling_s=5.0)
    with HostRunner(work(20, measuring=loose)) as runner:
        [measured] = runner.measure([0])
    assert len(measured.runtimes_ms) == 7


@pytest.mark.slow
def test_a_hundred_hostile_kernels_and_programs_leave_no_process_and_no_memory_behind(
    hostile: Make, left_behind: Callable[[], list[int]], tmp_path: Path
) -> None:
    modes = [mode for mode in HOSTILE if mode != "ENDLESS"]
    kernel = hostile("GOOD", *modes)
    kernel = replace(
        kernel,
        parameters={"MODE": ["GOOD", *modes], "LEVEL": ["-O0", "-O1", "-O2"]},
        uses={**kernel.uses, "LEVEL": Use(flag="{}")},
        default={"MODE": "GOOD", "LEVEL": "-O1"},
    )
    (tmp_path / "bad.sh").write_text("case $1 in 0) kill -9 $$;; 1) exit 3;; 2) sleep 60 & echo 1;; *) yes;; esac\n")
    programs = Kernel(
        name="programs",
        language="command",
        source=tmp_path / "bad.sh",
        entry="",
        arguments=[],
        command=["sh", "bad.sh", "{WHAT}"],
        parameters={"WHAT": [0, 1, 2, 3], "AGAIN": list(range(8))},
        measuring=Measuring(timeout_s=2.0, output_kib=64),
    )
    run = tune(kernel, optimizer="random", evaluations=kernel.space.size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    again = tune(kernel, optimizer="random", evaluations=kernel.space.size, seed=1)
    others = tune(programs, optimizer="random", evaluations=programs.space.size)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for each in (run, again):
        for trial in each.trials:
            mode = str(kernel.space.config(trial.id)["MODE"])
            assert trial.measurement.status is {"GOOD": Status.OK, **HOSTILE}[mode], (mode, trial.measurement)
        assert each.best_configuration is not None
        assert each.best_configuration["MODE"] == "GOOD"
    assert len(run.trials) + len(others.trials) >= 100
    assert {trial.measurement.status for trial in others.trials} == {Status.CRASH, Status.OK}
    assert after - before < 16 * 1024, "KiB; the controller stays as large as it is"
    assert left_behind() == []
