"""Compare optimizers on the recorded spaces of a suite: many seeds, intervals, paired tests. See docs/score.md."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

from tunewright.bench.contestant import Contestant, contestant
from tunewright.bench.prepared import Prepared, prepare
from tunewright.bench.published_table import score_published
from tunewright.bench.race import DEFAULT_RUNS, race
from tunewright.bench.score import ContestantScore, Request, Table, score_contestants
from tunewright.bench.suite import Entry, Role, Suite, open_test, read_suite
from tunewright.cli.options import positive_number, print_json, whole_number
from tunewright.errors import OptionError
from tunewright.report.scoreboard import scoreboard

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "optimizers",
        nargs="+",
        metavar="OPT",
        help="a name, FILE.py or FILE.py:FUNCTION, or another tuner's method such as kernel_tuner:genetic_algorithm; "
        "hyper-parameters follow after commas: genetic,population=40",
    )
    parser.add_argument("--suite", required=True, metavar="SUITE", help="a suite's .toml file, or a built-in name")
    parser.add_argument("--root", metavar="DIR", help="folder of the suite's recordings (default: as the suite says)")
    parser.add_argument(
        "--role",
        action="append",
        default=[],
        choices=[role.value for role in Role],
        help="score spaces of this role; may be repeated (default: all but test)",
    )
    parser.add_argument(
        "--space", action="append", default=[], metavar="NAME", help="score this space only; may be repeated"
    )
    parser.add_argument(
        "--open-test", action="store_true", help="allow spaces of the role test; each opening is logged beside the data"
    )
    parser.add_argument("--repeats", type=whole_number, default=100, metavar="N", help="runs each (default: 100)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all random numbers (default: 0)")
    parser.add_argument("--jobs", type=whole_number, metavar="N", help="processes (default: one for each core)")
    parser.add_argument(
        "--definition",
        choices=("exact", "published"),
        default="exact",
        help="the score: exact, or as the published methodology computes it (default: %(default)s)",
    )
    parser.add_argument("--noise", action="store_true", help="answer with recorded samples drawn at random")
    parser.add_argument("--null-space", action="store_true", help="deal costs out anew in each run: all must score 0")
    parser.add_argument(
        "--charge-cpu",
        type=positive_number,
        default=0.0,
        metavar="X",
        help="put X seconds on the tuning clock for each processor second of the optimizer",
    )
    parser.add_argument(
        "--tune-hyperparameters",
        action="store_true",
        help="first race the declared hyper-parameters of each on the suite's train spaces; for other roles than train",
    )
    parser.add_argument(
        "--tuning-runs",
        type=whole_number,
        default=DEFAULT_RUNS,
        metavar="N",
        help="runs of each race, the same for everyone (default: %(default)s)",
    )
    parser.add_argument(
        "--no-fractions", action="store_true", help="leave out the runs at fixed numbers of evaluations"
    )
    parser.add_argument(
        "--run-timeout", type=positive_number, default=120.0, metavar="S", help="wall seconds a run (default: 120)"
    )
    parser.add_argument("--report", metavar="FILE", help="also write one self-contained HTML page")
    parser.add_argument("--json", action="store_true", help="print one JSON object to standard output")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    suite = read_suite(options.suite, options.root)
    entries = suite.select([Role(role) for role in options.role], options.space)
    contestants = [contestant(text) for text in options.optimizers]
    closed = [entry.name for entry in entries if entry.role is Role.TEST]
    if closed and not options.open_test:
        raise OptionError(
            f"{', '.join(closed)}: spaces of the role test are scored with --open-test only; that is logged"
        )
    if closed:
        open_test(suite, entries, [each.label for each in contestants])
    if options.tune_hyperparameters:
        contestants = _raced(options, suite, entries, contestants)
    spaces = [(prepare(entry), entry.family) for entry in entries]
    if options.definition == "published":
        return _published(options, suite, [prepared for prepared, _ in spaces], contestants)
    request = Request(
        repeats=options.repeats,
        seed=options.seed,
        noise=options.noise,
        shuffled=options.null_space,
        charge=options.charge_cpu,
        fractions=not options.no_fractions,
    )
    table = score_contestants(
        contestants,
        spaces,
        request,
        jobs=options.jobs,
        run_timeout_s=options.run_timeout,
        on_done=_progress if sys.stderr.isatty() else None,
    )
    if options.report:
        command = "tunewright " + " ".join(["score", *options.optimizers, "--suite", options.suite])
        Path(options.report).write_text(scoreboard(suite, table, command), "utf-8")
    if options.json:
        print_json(as_data(suite, entries, table))
    else:
        _show(suite, entries, table, spaces)
    return 0


def _raced(
    options: argparse.Namespace, suite: Suite, entries: tuple[Entry, ...], contestants: list[Contestant]
) -> list[Contestant]:
    """Each contestant with the hyper-parameters that won on train spaces."""
    if any(entry.role is Role.TRAIN for entry in entries):
        raise OptionError("--tune-hyperparameters tunes on train; score other spaces, such as --role selection")
    spaces = []
    for entry in suite.select([Role.TRAIN]):
        prepared = prepare(entry)
        if "unscorable" not in prepared.facts["baseline"]:
            spaces.append((prepared, entry.family))
    found = []
    for each in contestants:
        won = race(
            each,
            spaces,
            runs=options.tuning_runs,
            seed=options.seed,
            jobs=options.jobs,
            run_timeout_s=options.run_timeout,
            on_done=_progress if sys.stderr.isatty() else None,
        )
        print(
            f"{each.label}: {won.settings} settings raced with {won.runs} runs on train; won: {won.contestant.label}",
            file=sys.stderr,
        )
        found.append(won.contestant)
    return found


def _published(options: argparse.Namespace, suite: Suite, spaces: list[Prepared], contestants: list[Contestant]) -> int:
    if options.noise or options.null_space or options.charge_cpu:
        raise OptionError("--noise, --null-space and --charge-cpu go with the exact score only")
    rows, unscored = score_published(
        contestants,
        spaces,
        repeats=options.repeats,
        seed=options.seed,
        jobs=options.jobs,
        run_timeout_s=options.run_timeout,
        on_done=_progress if sys.stderr.isatty() else None,
    )
    if options.json:
        print_json(
            {
                "suite": suite.name,
                "suite_version": suite.version,
                "definition": "published",
                "repeats": options.repeats,
                "seed": options.seed,
                "unscored": dict(unscored),
                "optimizers": [
                    {
                        "optimizer": row.contestant.label,
                        "score": row.value,
                        "standard_error": row.error,
                        "spaces": {
                            name: {"score": value, "standard_error": error, "short_runs": short}
                            for name, (value, error, short) in row.spaces.items()
                        },
                    }
                    for row in rows
                ],
            }
        )
        return 0
    print(f"{suite.name} version {suite.version}: published score, {options.repeats} runs each, seed {options.seed}")
    width = max(len(row.contestant.label) for row in rows)
    for row in rows:
        print(f"{row.contestant.label:{width}}  {row.value:7.3f} +- {1.96 * row.error:.3f}")
        for name, (value, error, short) in row.spaces.items():
            words = f"  {short} runs with fewer than two valid evaluations on the axis" if short else ""
            print(f"{'':{width}}    {name:32} {value:7.3f} +- {1.96 * error:.3f}{words}")
    for name, why in unscored.items():
        print(f"not scored: {name}: {why}")
    return 0


def _progress(done: int, of: int) -> None:
    print(f"\r{done:,} of {of:,} cells", end="\n" if done == of else "", file=sys.stderr, flush=True)


def as_data(suite: Suite, entries: tuple[Entry, ...], table: Table) -> dict[str, Any]:
    """Everything as plain data; what is not finite is null."""
    request = table.request
    return {
        "suite": suite.name,
        "suite_version": suite.version,
        "definition": "exact",
        "repeats": request.repeats,
        "seed": request.seed,
        "noise": request.noise,
        "null_space": request.shuffled,
        "charge_cpu": request.charge,
        "spaces": [{"name": e.name, "family": e.family, "role": e.role.value} for e in entries],
        "unscored": dict(table.unscored),
        "optimizers": [_row(row) for row in table.rows],
    }


def _row(row: ContestantScore) -> dict[str, Any]:
    return {
        "optimizer": row.contestant.label,
        "score": row.value,
        "interval_over_seeds": [row.interval.low, row.interval.high],
        "interval_over_families": row.family_interval and [row.family_interval.low, row.family_interval.high],
        "mean_rank": row.rank,
        "families_won": row.wins,
        "behind_best": row.behind and [row.behind[0], row.behind[1].low, row.behind[1].high],
        "p_corrected": row.p,
        "families": dict(row.families),
        "spaces": {
            name: {
                "score": each.value,
                "interval": [each.interval.low, each.interval.high],
                "runs": each.runs.tolist(),
                "goal": each.goal,
                "evaluations": each.evaluations,
                "fraction_after": {str(count): _finite(value) for count, value in each.fraction_after.items()},
                "to_fraction": {
                    str(fraction): {"evaluations": _finite(count), "seconds": _finite(seconds), "share": share}
                    for fraction, (count, seconds, share) in each.to_fraction.items()
                },
                "repeats": each.repeats,
                "failures": each.failures,
                "ended_early": each.ended_early,
                "failed_runs": dict(each.failed),
                "cpu_ms_per_evaluation": each.cpu_ms,
            }
            for name, each in row.spaces.items()
        },
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _show(suite: Suite, entries: tuple[Entry, ...], table: Table, spaces: list[tuple[Prepared, str]]) -> None:
    request = table.request
    families = list(table.rows[0].families)
    kind = "".join(
        [", samples drawn at random" if request.noise else "", ", null space" if request.shuffled else ""]
        + ([f", {request.charge:g} s charged for a processor second"] if request.charge else [])
    )
    print(
        f"{suite.name} version {suite.version}: {len(entries) - len(table.unscored)} spaces, {len(families)} families, "
        f"{request.repeats} runs each, seed {request.seed}{kind}"
    )
    print("score: 0 random search, 1 optimum at once; mean over families; 95 % interval over seeds")
    width = max(len(row.contestant.label) for row in table.rows)
    heads = f"{'score':>6}  {'interval':>15} {'rank':>5} {'wins':>4}  {'behind best':>22} {'p':>6}  CPU/eval"
    print(f"\n{'':{width}}  {heads}")
    for row in table.rows:
        behind, p = "", ""
        if row.behind is not None and row.p is not None:
            difference, ends = row.behind
            behind, p = f"{difference:.3f} ({ends.low:+.3f} {ends.high:+.3f})", f"{row.p:.4f}"
        cpu = sum(each.cpu_ms * each.evaluations for each in row.spaces.values()) / max(
            sum(each.evaluations for each in row.spaces.values()), 1e-9
        )
        print(
            f"{row.contestant.label:{width}}  {row.value:6.3f}  {row.interval.low:6.3f} - {row.interval.high:6.3f} "
            f"{row.rank:5.2f} {row.wins:4}  {behind:>22} {p:>6}  {cpu:.3f} ms"
        )
    print("\nby family")
    print(f"{'':{width}}" + "".join(f" {name[:12]:>12}" for name in families))
    for row in table.rows:
        print(f"{row.contestant.label:{width}}" + "".join(f" {row.families[name]:12.3f}" for name in families))
    counts = sorted({count for row in table.rows for each in row.spaces.values() for count in each.fraction_after})
    if counts:
        print("\nfraction of the optimum after so many evaluations, mean over spaces; median evaluations to 0.95")
        print(f"{'':{width}}" + "".join(f" {count:>6}" for count in counts) + f" {'to 0.95':>9} {'reached':>8}")
        for row in table.rows:
            _show_fractions(row, counts, width)
    print("\nrepeated proposals, failed configurations, runs that ended early, runs that failed")
    for row in table.rows:
        each = list(row.spaces.values())
        failed = sum(sum(space.failed.values()) for space in each)
        share = [
            sum(getattr(space, name) for space in each) / len(each) for name in ("repeats", "failures", "ended_early")
        ]
        print(f"{row.contestant.label:{width}}" + "".join(f" {value:7.1%}" for value in share) + f" {failed:6}")
        causes = {cause for space in each for cause in space.failed}
        for cause in sorted(causes)[:3]:
            print(f"{'':{width}}   {cause.splitlines()[0][:100]}")
    for prepared, _ in spaces:
        if prepared.name in table.unscored:
            print(f"not scored: {prepared.name}: {table.unscored[prepared.name]}")
    raised = [f"{name} ({each.goal})" for name, each in table.rows[0].spaces.items() if each.goal != 0.95]
    if raised:
        print(f"goal raised above 0.95, where the window would be too short: {', '.join(raised)}")


def _show_fractions(row: ContestantScore, counts: list[int], width: int) -> None:
    spaces = list(row.spaces.values())
    cells = []
    for count in counts:
        values = [space.fraction_after[count] for space in spaces if count in space.fraction_after]
        cells.append(f" {sum(values) / len(values):6.3f}" if values else f" {'':6}")
    medians = sorted(space.to_fraction[0.95][0] for space in spaces)
    middle = medians[len(medians) // 2]
    reached = sum(space.to_fraction[0.95][2] for space in spaces) / len(spaces)
    print(f"{row.contestant.label:{width}}" + "".join(cells) + f" {middle:9.0f} {reached:8.0%}")
