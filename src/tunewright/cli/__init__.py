"""The command line: parses, calls one function, prints.

Exit codes: 0 success; 1 no configuration works; 2 the request cannot be carried out as given (option,
specification, space, file); 3 this machine cannot measure (no compiler, a reference that fails); 4 the
optimizer failed, after the best so far was printed; 130 interrupted by Ctrl-C, likewise.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence

from tunewright.errors import RunnerError, TunewrightError
from tunewright.version import __version__

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "tune": "find the fastest configuration of a kernel",
    "init": "write a first specification for a kernel source",
    "space": "count and describe a search space",
    "record": "measure a whole space, or a sample, into a file that replays",
    "runs": "list what was tuned, and what is being tuned now",
    "best": "look up the best configuration found so far",
    "gc": "delete old runs and what no run uses any more",
    "replay": "run an optimizer against a recorded space",
    "suite": "look suites of recorded spaces over, or disguise one",
    "score": "compare optimizers on the spaces of a suite",
    "export": "write an optimizer as a strategy for Kernel Tuner",
    "check": "look a recording over: repairs, suspicions, what it holds",
    "convert": "turn a recording into another format",
    "doctor": "show what this machine offers: compilers, isolation, timer, noise",
}

_EXIT_CODES = __doc__.partition("\n\n")[2]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a kernel or compiler said must not end in an encoding error
            stream.reconfigure(errors="backslashreplace")
    parser = argparse.ArgumentParser(
        prog="tunewright",
        description="Finds fast configurations of compute kernels.",
        epilog="commands:\n"
        + "".join(f"  {name:8} {text}\n" for name, text in COMMANDS.items())
        + f"\n'tunewright COMMAND --help' explains a command.\n\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="tunewright [-h] [--version] COMMAND ...",
    )
    parser.add_argument("--version", action="version", version=f"tunewright {__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of the commands below")
    chosen = parser.parse_args(arguments[:1])
    command = importlib.import_module(f"tunewright.cli.{chosen.command}")  # only what is asked for is loaded
    own = argparse.ArgumentParser(prog=f"tunewright {chosen.command}", description=command.__doc__)
    command.add_arguments(own)
    for number in (signal.SIGTERM, signal.SIGHUP):  # being told to end is like Ctrl-C: best so far, nothing left
        signal.signal(number, signal.default_int_handler)
    try:
        code = command.run(own.parse_args(arguments[1:]))
        sys.stdout.flush()
    except RunnerError as error:
        print(f"tunewright: {error}", file=sys.stderr)
        return 3
    except TunewrightError as error:
        print(f"tunewright: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tunewright: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"tunewright: {error}", file=sys.stderr)
        return 2
    return int(code)
