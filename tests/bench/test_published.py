"""The published score agrees with its reference implementation, whose own randomness is in the tolerances."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tunewright.bench.prepared import prepare
from tunewright.bench.published import Points, PublishedBaseline, published_baseline, published_curve
from tunewright.bench.suite import read_suite
from tunewright.cli import main

ORACLE = Path(__file__).resolve().parents[3] / "shared" / "oracle"
KERNELS = ("convolution_milo", "dedispersion_milo")


@pytest.fixture(scope="module")
def oracle() -> dict[str, Any]:
    if not ORACLE.is_dir():
        pytest.skip(f"reference values are not at {ORACLE}")
    found: dict[str, Any] = json.loads((ORACLE / "baseline.json").read_text())
    return found


@pytest.fixture(scope="module")
def bases(
    oracle: dict[str, Any], shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, PublishedBaseline]:
    folder = tmp_path_factory.mktemp("prepared")
    suite = read_suite("recorded", shared_data)
    wanted = [entry for entry in suite.entries if entry.name.replace("/", "|") in oracle]
    ready = {entry.name.replace("/", "|"): prepare(entry, folder) for entry in wanted}
    return {name: published_baseline(each.costs, each.published_seconds) for name, each in ready.items()}


def test_axis_budget_and_baseline_agree_with_the_reference(oracle, bases) -> None:
    assert bases.keys() == oracle.keys()
    for name, known in oracle.items():
        ours = bases[name]
        assert ours.evaluations == (known["cutoff_fevals_start"], known["cutoff_fevals"])
        for value, key in (
            (ours.optimum, "optimum"),
            (ours.median, "median"),
            (ours.cutoff, "cutoff_value"),
            (ours.budget_s, "budget_time_limit_s"),
            (ours.median_s, "time_median_s"),
            (ours.mean_s, "time_mean_s"),
            (ours.per_evaluation_s, "time_mean_per_feval_s"),
            (ours.times_s[0], "cutoff_time_start_s"),
            (ours.times_s[-1], "cutoff_time_s"),
        ):
            assert value == pytest.approx(known[key], rel=1e-6), (name, key)
        over_evaluations = ours.over_evaluations()
        for point in known["time_axis"]:
            assert ours.raw[point["i"]] == pytest.approx(point["raw"], rel=1e-6)
            assert ours.values[point["i"]] == pytest.approx(point["baseline"], rel=1e-6)
        for point in known["fevals_axis"]:
            assert over_evaluations[point["i"]] == pytest.approx(point["baseline"], rel=1e-6)


def files() -> list[str]:
    return sorted(path.name for path in (ORACLE / "trajectories").glob("*_seed*.json.gz")) or ["none"]


@pytest.mark.parametrize("file", files())
def test_curve_and_score_agree_with_the_reference(bases, file: str) -> None:
    known = json.loads(gzip.decompress((ORACLE / "trajectories" / file).read_bytes()))
    base = bases[f"{known['kernel']}|{known['device']}"]
    runs = [
        Points(
            np.array(run["time_s"]),
            np.array([b if v is not None else np.nan for v, b in zip(run["value"], run["best"], strict=True)]),
        )
        for run in known["trajectories"]
    ]
    ours = published_curve(base, runs)
    assert abs(ours.score - known["score"]) <= 3 * known["score_std"] + 0.003
    assert ours.stopping_index == known["stopping_index"]
    near = 0
    for point in known["points"]:
        at = np.searchsorted(base.ascending, point["curve_mean"])
        step = np.diff(base.ascending[max(at - 1, 0) : at + 2]).max()
        near += abs(ours.values[point["i"]] - point["curve_mean"]) <= 4 * point["curve_std"] + step
    assert near >= 0.95 * len(known["points"])


def test_the_published_score_is_the_same_each_time(bases) -> None:
    base = bases["convolution_milo|MI250X"]
    rng = np.random.default_rng(0)
    runs = [
        Points(np.cumsum(rng.random(100) * 2), np.minimum.accumulate(rng.choice(base.ascending, 100)))
        for _ in range(20)
    ]
    assert published_curve(base, runs).score == published_curve(base, runs).score


def test_the_command_prints_the_published_score_with_an_error(
    suite_file: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["score", "random", "ridge", "--suite", str(suite_file()), "--definition", "published", "--repeats", "6"]
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["optimizers"]
    assert rows[0]["optimizer"] == "ridge"
    assert rows[0]["score"] > rows[1]["score"]
    assert rows[0]["standard_error"] > 0
    assert main([*command, "--noise"]) == 2
