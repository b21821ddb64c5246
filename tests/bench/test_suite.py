"""Suites: what their files must say, whom the role test keeps out, and disguised copies."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tunewright.bench.disguise import disguise
from tunewright.bench.prepared import prepare
from tunewright.bench.suite import BUILT_IN, OPENINGS, Role, read_suite
from tunewright.cli import main
from tunewright.errors import OptionError, RecordError

Make = Callable[..., Path]
TEST = (("a", "f", "train"), ("t", "g", "test"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = 1 =", "cannot be read"),
        ("name = 'x'", r"no \[\[space\]\] tables"),
        ("[[space]]\nname = 'a'\nfile = 'a'\nfamily = 'f'\nrole = 'best'", "'best' is not one of train"),
        ("[[space]]\nname = 'a'\nfile = 'a'\nrole = 'train'", "family is missing"),
        ("[[space]]\nname = 'a'\nfile = 'a'\nfamily = 'f'\nrole = 'train'\nrolle = 1", "unknown key rolle"),
        ("[[space]]\nname = 'a'\nfile = 'a'\nfamily = 'f'\nrole = 'train'\ngoal = 'up'", "goal cannot be 'up'"),
        (2 * "[[space]]\nname = 'a'\nfile = 'a'\nfamily = 'f'\nrole = 'train'\n", "two spaces are called 'a'"),
    ],
)
def test_a_suite_file_that_makes_no_sense_says_where(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(OptionError, match=words):
        read_suite(path)


def test_an_unknown_suite_lists_those_that_come_with_the_program() -> None:
    with pytest.raises(OptionError, match="hub, recorded"):
        read_suite("nowhere")


@pytest.mark.parametrize("name", sorted(path.stem for path in BUILT_IN.glob("*.toml")))
def test_the_suites_that_come_with_the_program_are_sound(name: str) -> None:
    suite = read_suite(name)
    assert {entry.role for entry in suite.entries} > {Role.TRAIN}


def test_the_published_study_designs_on_three_devices_and_tests_on_three_others() -> None:
    hub = read_suite("hub")
    devices = {role: {e.name.partition("/")[2] for e in hub.entries if e.role is role} for role in Role}
    assert devices[Role.TRAIN] == {"A100", "A4000", "MI250X"}
    assert devices[Role.TEST] == {"A6000", "W6600", "W7800"}
    assert {entry.family for entry in hub.entries} == {"dedispersion", "convolution", "hotspot", "gemm"}


def test_a_changed_recording_is_refused_by_its_checksum(suite_file: Make) -> None:
    path = suite_file()
    path.write_text(path.read_text().replace('file = "a.npz"', f'file = "a.npz"\nsha256 = "{"0" * 64}"'))
    with pytest.raises(RecordError, match="the checksum is"):
        prepare(read_suite(path).entries[0])


def test_a_prepared_space_is_read_once(suite_file: Make) -> None:
    path = suite_file()
    entry = read_suite(path).entries[0]
    first = prepare(entry)
    stamp = (first.folder / "costs.npy").stat().st_mtime_ns
    assert prepare(entry).folder == first.folder
    assert (first.folder / "costs.npy").stat().st_mtime_ns == stamp


def test_test_spaces_stay_closed_until_opened_and_each_opening_is_logged(
    suite_file: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(suite_file(*TEST))
    command = ["score", "random", "--suite", path, "--repeats", "2", "--no-fractions"]
    assert main([*command, "--role", "test"]) == 2
    assert "--open-test" in capsys.readouterr().err
    assert main([*command, "--space", "t"]) == 2
    assert main(command) == 0, "all roles but test is the default"
    assert not (tmp_path / OPENINGS).exists()
    for _ in range(2):
        assert main([*command, "--role", "test", "--open-test"]) == 0
    logged = [json.loads(line) for line in (tmp_path / OPENINGS).read_text().splitlines()]
    assert [(row["spaces"], row["optimizers"]) for row in logged] == [(["t"], ["random"])] * 2


def test_checking_a_suite_tells_windows_and_problems(
    suite_file: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(suite_file(*TEST))
    assert main(["suite", "check", path, "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["spaces"]}
    assert rows["a"]["window"]["evaluations"] > 10
    assert rows["t"]["closed"]
    (tmp_path / "a.npz").write_bytes(b"nonsense")
    assert main(["suite", "check", path]) == 2
    assert "PROBLEM" in capsys.readouterr().out


def test_a_disguised_suite_has_the_same_costs_under_other_names(suite_file: Make, tmp_path: Path) -> None:
    suite = read_suite(suite_file())
    copy = read_suite(disguise(suite, suite.entries, tmp_path / "copy", seed=4))
    assert [entry.role for entry in copy.entries] == [entry.role for entry in suite.entries]
    for old, new in zip(suite.entries, copy.entries, strict=True):
        before, after = prepare(old), prepare(new)
        ratio = np.sort(after.costs[np.isfinite(after.costs)]) / np.sort(before.costs[np.isfinite(before.costs)])
        assert np.ptp(ratio) < 1e-12
        assert np.sort(after.seconds) == pytest.approx(np.sort(before.seconds))
        assert not set(after.space.names) & set(before.space.names)
        assert "ij" not in str(after.space.parameters)
    text = (tmp_path / "copy" / "suite.toml").read_text()
    assert not any(f'"{name}"' in text for name in "abcfg")


def test_a_disguise_never_overwrites(suite_file: Make, tmp_path: Path) -> None:
    suite = read_suite(suite_file())
    with pytest.raises(RecordError, match="not empty"):
        disguise(suite, suite.entries, tmp_path)


def test_a_scored_table_is_printed_and_is_strict_json(suite_file: Make, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["score", "random", "ridge", "--suite", str(suite_file()), "--repeats", "4"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "made-up version 3: 3 spaces, 2 families" in text
    assert main([*command, "--json"]) == 0
    data = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(word))
    assert data["optimizers"][0]["optimizer"] == "ridge"
    assert len(data["optimizers"][0]["spaces"]["a"]["runs"]) == 4
