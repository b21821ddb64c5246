"""Racing finds the setting that is better, spends what it was given, and never on other than train spaces."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tunewright.bench.contestant import contestant
from tunewright.bench.prepared import prepare
from tunewright.bench.race import declared_values, race
from tunewright.bench.suite import Role, read_suite
from tunewright.cli import main
from tunewright.errors import OptionError

Make = Callable[..., Path]
MINE = """
HYPERPARAMETERS = {"share": (0.0, 0.5, 1.0)}

def mine(space, budget, rng, *, start=(), share=0.0):
    known = {}
    while True:
        best = min(known, key=known.get, default=None)
        around = space.neighbors(best) if best is not None and rng.random() < share else ()
        fresh = [i for i in around if i not in known] or [i for i in range(space.size) if i not in known]
        i = rng.choice(fresh)
        [known[i]] = yield [i]
"""


def test_the_better_setting_wins_within_the_budget(suite_file: Make, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    suite = read_suite(suite_file())
    spaces = [(prepare(entry), entry.family) for entry in suite.select([Role.TRAIN])]
    won = race(contestant(str(file)), spaces, runs=240)
    assert won.contestant.options["share"] > 0.0
    assert won.runs <= 240
    assert sum(settings * repeats * len(spaces) for settings, repeats in won.rounds) == won.runs


def test_what_was_given_stays_and_without_choices_nothing_is_run(suite_file: Make, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    suite = read_suite(suite_file())
    spaces = [(prepare(entry), entry.family) for entry in suite.select([Role.TRAIN])]
    fixed = contestant(f"{file},share=0.5")
    assert race(fixed, spaces).contestant == fixed
    assert race(fixed, spaces).runs == 0
    with pytest.raises(OptionError, match="too few"):
        race(contestant("genetic"), spaces, runs=3)


def test_values_are_declared_by_built_in_optimizers_and_read_from_files_without_running_them(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n{MINE}")
    assert declared_values(contestant(str(file))) == {"share": [0.0, 0.5, 1.0]}
    assert not (tmp_path / "ran").exists()
    assert declared_values(contestant("genetic"))
    file.write_text("HYPERPARAMETERS = {'x': range(3)}\ndef mine(): yield")
    with pytest.raises(OptionError, match="plain values"):
        declared_values(contestant(str(file)))


def test_tuned_contestants_are_scored_on_other_spaces_only(
    suite_file: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["score", "local_search", "--suite", str(suite_file()), "--repeats", "3", "--no-fractions"]
    assert main([*command, "--tune-hyperparameters"]) == 2
    assert "tunes on train" in capsys.readouterr().err
    assert main([*command, "--tune-hyperparameters", "--tuning-runs", "40", "--role", "selection"]) == 0
    assert "settings raced with" in capsys.readouterr().err
