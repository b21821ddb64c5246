"""Show what this machine offers: compilers, isolation layers, timer, noise."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from tunewright.cli.options import print_json
from tunewright.diagnose import Diagnosis, diagnose

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--json", action="store_true", help="print one JSON object to standard output")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    found = diagnose()
    if options.json:
        print_json(asdict(found))
    else:
        print("\n".join(_lines(found)))
    return 0 if found.compilers and found.noise else 3


def _lines(found: Diagnosis) -> list[str]:
    lines = [
        f"system     {found.system}",
        f"processor  {found.processor}, {found.cores} cores",
    ]
    for compiler in found.compilers:
        openmp = "OpenMP works" if compiler.openmp else "OpenMP does not work"
        lines.append(f"compiler   {compiler.name}: {compiler.version} ({openmp})")
    if not found.compilers:
        lines.append("compiler   none on PATH; install gcc or clang")
    for layer in found.layers:
        note = f" ({layer.note})" if layer.note else ""
        lines.append(f"isolation  {layer.name}: {'on' if layer.on else 'off'}{note}")
    lines.append(f"timer      resolution {found.timer_ns:.0f} ns")
    if found.noise is None:
        lines.append(f"noise      could not be measured: {found.noise_problem}")
    else:
        lines.append(
            f"noise      a {found.noise.median_ms:.2f} ms compute kernel varies by {found.noise.spread:.1%} "
            f"(5th to 95th percentile); overhead of a measurement {found.noise.overhead_ms:.1f} ms"
        )
    return lines
