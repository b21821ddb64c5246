"""Derived metrics in live tuning: computed from what was measured, kept out of the store, usable as the objective."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tunewright.cli import main
from tunewright.errors import MetricError, SpecificationError
from tunewright.kernel import Argument, Kernel, Measuring, Role, read_kernel
from tunewright.kernel.spec import HOST_METRICS
from tunewright.measure import Measurement, Objective, Status
from tunewright.metrics import Metrics
from tunewright.records import Store, read_recording
from tunewright.runners.host import HostRunner
from tunewright.tune import tune

WORK = """
void work(const float *x, float *out)
{
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < N; i++)
            out[i] = 2 * x[i];
}
"""
RATE = "N / runtime_ms / 1e3"
Make = Callable[..., Kernel]


@pytest.fixture
def work(tmp_path: Path, compiler: str) -> Make:
    """A kernel whose time is proportional to PASSES, with its rate as the objective."""
    source = tmp_path / "work.c"
    source.write_text(WORK)

    def make(**changes: Any) -> Kernel:
        settings: dict[str, Any] = {
            "name": "work",
            "source": source,
            "entry": "work",
            "problem": {"N": 20_000},
            "arguments": [
                Argument(name="x", dtype="float32", shape=("N",)),
                Argument(name="out", dtype="float32", shape=("N",), role=Role.OUT),
            ],
            "parameters": {"PASSES": [40, 10, 20]},
            "flags": ("-O1",),
            "metrics": {"rate": RATE},
            "objective": Objective("rate", goal="max"),
            "measuring": Measuring(sampling_s=0.02, rounds=6),
        }
        return Kernel(**{**settings, **changes})

    return make


def program(folder: Path, text: str, **changes: Any) -> Kernel:
    """A shell script as the kernel; it gets X."""
    (folder / "program.sh").write_text(text)
    kernel = Kernel(
        name="program",
        language="command",
        source=folder,
        entry="",
        arguments=[],
        command=["sh", "program.sh", "{X}"],
        parameters={"X": [1, 2, 4]},
        problem={"N": 8},
        measuring=Measuring(rounds=6),
    )
    return replace(kernel, **changes)


ANSWER = 'echo "{\\"runtime_ms\\": $1, \\"energy_j\\": $((9 - $1))}"\n'


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"rate": "M / runtime_ms"}, "metrics: metric 'rate' needs 'M', which is not known; there are N, PASSES"),
        ({"rate": "N / runtme_ms"}, "needs 'runtme_ms', which is not known; did you mean 'runtime_ms'"),
        ({"rate": "N /"}, "metrics: metric 'rate': expression"),
        ({"a": "b", "b": "a"}, "in a circle"),
        ({"PASSES": "1"}, "cannot be called 'PASSES'"),
        ({"N": "1"}, "cannot be called 'N'"),
        ({"cpu_ms": "1"}, "cannot be called 'cpu_ms'"),
        ({"runtime_ms": "1"}, "cannot be called 'runtime_ms'"),
        ({"rate": 3}, "must be an expression as text, not 3"),
    ],
)
def test_what_cannot_be_computed_is_refused_before_anything_is_compiled(
    work: Make, metrics: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecificationError, match=message):
        work(metrics=metrics)


def test_names_that_only_the_program_knows_are_let_through(tmp_path: Path) -> None:
    program(tmp_path, ANSWER, metrics={"product": "energy_j * runtime_ms", "twice": "2 * product"})
    with pytest.raises(MetricError, match="did you mean 'energy_j'"):
        Metrics({"p": "enrgy_j"}).check_names({"energy_j"})


def test_a_specification_has_a_table_of_metrics(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        '[kernel]\nlanguage = "command"\ncommand = ["sh", "p.sh", "{X}"]\n'
        '[parameters]\nX = [1, 2]\n[metrics]\nratio = "X / runtime_ms"\n'
    )
    assert read_kernel(tmp_path / "p.toml").metrics == {"ratio": "X / runtime_ms"}
    (tmp_path / "p.toml").write_text((tmp_path / "p.toml").read_text().replace('"X / runtime_ms"', "2"))
    with pytest.raises(SpecificationError, match=r"p\.toml: metrics\.ratio"):
        read_kernel(tmp_path / "p.toml")


def test_what_is_measured_of_a_kernel_is_what_its_metrics_may_use(work: Make) -> None:
    with HostRunner(work()) as runner:
        [measured] = runner.measure([0])
    assert set(measured.metrics) <= set(HOST_METRICS)
    assert "cpu_ms" in measured.metrics


def test_a_derived_objective_steers_the_search_and_the_final_comparison(work: Make) -> None:
    kernel = work()
    run = tune(kernel)
    for trial in run.trials:
        [passes] = kernel.space.config(trial.id).values()
        rate = 20_000 / sorted(trial.measurement.runtimes_ms)[len(trial.measurement.runtimes_ms) // 2] / 1e3
        assert trial.measurement.metrics["rate"] == pytest.approx(rate, rel=0.5), passes
        assert trial.cost == -trial.measurement.metrics["rate"]
    assert run.best_configuration == {"PASSES": 10}
    assert run.decision is not None
    assert run.decision.best.metrics["rate"] == -run.decision.best.cost
    assert run.decision.default is not None
    assert run.decision.default.metrics["rate"] < run.decision.best.metrics["rate"]
    assert run.speedup == pytest.approx(4.0, rel=0.5)


def test_a_changed_expression_uses_what_was_measured_and_decides_anew(work: Make, tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        first = tune(work(), store=store)
        again = tune(work(metrics={"rate": f"PASSES * {RATE}", "other": "1"}), store=store)
        plain = tune(work(metrics={}, objective=Objective()), store=store)
        rows = store._db.execute("SELECT metrics FROM measurement").fetchall()
    assert any("3 measurements were known already" in note for note in again.notes)
    assert any("3 measurements were known already" in note for note in plain.notes)
    assert all(set(json.loads(text)) <= set(HOST_METRICS) for (text,) in rows), "only what was measured is kept"
    assert len(rows) == 3
    for before, after in zip(first.trials, again.trials, strict=True):
        [passes] = work().space.config(before.id).values()
        assert after.measurement.runtimes_ms == before.measurement.runtimes_ms
        assert after.measurement.metrics["rate"] == pytest.approx(passes * before.measurement.metrics["rate"])
    assert again.decision is not None
    assert again.decision != first.decision
    assert again.decision.best.metrics["other"] == 1.0


def test_the_decision_of_a_run_that_is_repeated_keeps_its_metrics(work: Make, tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        first = tune(work(), store=store)
        again = tune(work(), store=store)
    assert first.decision == again.decision
    assert again.decision is not None
    assert again.decision.best.metrics["rate"] > 0


def test_metrics_of_a_program_are_names_and_may_be_the_objective(tmp_path: Path) -> None:
    kernel = program(tmp_path, ANSWER, metrics={"score": "N * energy_j / X"}, objective=Objective("score", goal="min"))
    run = tune(kernel)
    assert run.best_configuration == {"X": 4}
    assert [trial.measurement.metrics["score"] for trial in sorted(run.trials)] == [64.0, 28.0, 10.0]


def test_metrics_of_a_python_function_are_computed(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("def f(X):\n    return {'runtime_ms': 4.0 / X, 'bytes': 100.0 * X}\n")
    kernel = Kernel(
        name="f", language="python", source=tmp_path / "f.py", entry="f", arguments=[], parameters={"X": [1, 2]},
        metrics={"gb_per_s": "bytes / runtime_ms / 1e6"}, measuring=Measuring(rounds=6),
    )  # fmt: skip
    run = tune(kernel)
    assert [trial.measurement.metrics["gb_per_s"] for trial in sorted(run.trials)] == [25e-6, 100e-6]


def test_a_name_that_a_program_does_not_give_is_an_error_at_the_first_measurement(tmp_path: Path) -> None:
    kernel = program(tmp_path, ANSWER, metrics={"power": "energy_kj / runtime_ms"})
    with (
        Store(tmp_path / "store.sqlite") as store,
        pytest.raises(SpecificationError, match=r"needs 'energy_kj', which is missing for .*there are N, X, energy_j"),
    ):
        tune(kernel, store=store)
    with Store(tmp_path / "store.sqlite") as store:
        [row] = store.runs()
        assert row.stopped == "interrupted"
        run = tune(replace(kernel, metrics={"power": "energy_j / runtime_ms"}), store=store)
    assert any("1 measurements were known already" in note for note in run.notes)


def test_a_specification_of_a_command_may_get_metrics_later(tmp_path: Path) -> None:
    (tmp_path / "cost.sh").write_text("echo $1\n")
    text = '[kernel]\nlanguage = "command"\ncommand = ["sh", "cost.sh", "{X}"]\n[parameters]\nX = [1, 2]\n'
    spec = tmp_path / "cost.toml"
    spec.write_text(text)
    with Store(tmp_path / "store.sqlite") as store:
        tune(read_kernel(spec), store=store)
        spec.write_text(text + '[metrics]\nratio = "X / runtime_ms"\n')
        again = tune(read_kernel(spec), store=store)
    assert any("2 measurements were known already" in note for note in again.notes)


def test_failed_configurations_have_no_metrics(tmp_path: Path) -> None:
    run = tune(program(tmp_path, "[ $1 = 2 ] && exit 1\necho $1\n", metrics={"a": "1 / runtime_ms"}))
    assert [dict(t.measurement.metrics).get("a") for t in sorted(run.trials)] == [1.0, None, 0.25]


def test_a_number_beyond_all_measure_is_a_metric_error() -> None:
    measured = Measurement(Status.OK, (1.0,))
    with pytest.raises(MetricError, match="cannot be computed"):
        Metrics({"a": "10 ** 400"}).added_to(measured, {}, {})


SPEC = """
[kernel]
source = "work.c"
entry = "work"
flags = ["-O1"]
[problem]
N = 20000
[[arguments]]
name = "x"
dtype = "float32"
shape = ["N"]
[[arguments]]
name = "out"
dtype = "float32"
shape = ["N"]
role = "out"
[parameters]
PASSES = [40, 10, 20]
[metrics]
rate = "N / runtime_ms / 1e3"
passes_per_s = "PASSES / runtime_ms * 1000"
[objective]
metric = "rate"
goal = "max"
[measuring]
sampling_s = 0.02
rounds = 6
"""


@pytest.fixture
def spec(tmp_path: Path, compiler: str) -> Path:
    (tmp_path / "work.c").write_text(WORK)
    path = tmp_path / "work.toml"
    path.write_text(SPEC)
    return path


def test_tune_shows_metrics_and_counts_upwards(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", str(spec)]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    best = lines.index("best     PASSES=10")
    assert lines[best + 1].endswith(" rate")
    assert lines[best + 2].startswith("         passes_per_s=")
    assert "best -" not in captured.err
    assert "x default" in captured.err
    assert main(["tune", str(spec), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["median"] == data["metrics"]["rate"] > data["default"]["metrics"]["rate"] > 0
    assert data["metrics"]["passes_per_s"] == pytest.approx(500 * data["metrics"]["rate"])


def test_a_run_without_a_final_comparison_shows_metrics_too(
    spec: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(HostRunner, "remeasure", interrupted)
    assert main(["tune", str(spec), "--json"]) == 130
    data = json.loads(capsys.readouterr().out)
    assert data["median"] == data["metrics"]["rate"]
    assert data["speedup"] == pytest.approx(4.0, rel=0.5)


def test_a_recording_holds_its_metrics_and_its_objective(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "work.npz"
    assert main(["record", str(spec), "--out", str(out), "--patience", "0.01"]) == 0
    record, _ = read_recording(out)
    assert record.objective == Objective("rate", goal="max")
    best = min(record.rows, key=lambda i: record.objective.value(record.rows[i]))
    assert record.space.config(best) == {"PASSES": 10}
    assert all(row.metrics["passes_per_s"] > 0 for row in record.rows.values())
