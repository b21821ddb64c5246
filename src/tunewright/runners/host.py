"""Measures C and C++ kernels on this machine, with the compiler that is installed here."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Self

import numpy as np

from tunewright.budget import NEVER, Deadline
from tunewright.errors import DeadlineError, OptionError, RunnerError, SpecificationError, ToolchainError
from tunewright.kernel.spec import Kernel, Value
from tunewright.measure import Measurement, Status, Task
from tunewright.runners.arrays import Array, Buffers, evaluate, load_array
from tunewright.runners.compile import CompileLimits, CompilePool, Library
from tunewright.runners.identity import measuring_settings, source_digest
from tunewright.runners.isolation import Isolation
from tunewright.runners.launch import JOB, Launcher, Outcome, Run, call_header
from tunewright.runners.machine import core_threads, cpu_name, forbids_programs
from tunewright.runners.placement import Placement, apart, placement, runs_threads
from tunewright.runners.toolchain import Recipe, find_toolchain, kernel_recipe, library_recipe, macro_text
from tunewright.runners.verify import Expected, meaningless
from tunewright.runners.worker import Layer, Worker, clean_environment
from tunewright.space import SearchSpace

__all__ = ["HostRunner"]

_SHIM = Path(__file__).with_name("shim.c")
_SHIM_FLAGS = ("-O2", "-x", "c")
_REFERENCE_S = 60.0
_MOST_JOBS = 256
_SUSPICIOUS = 1.5  # a configuration this much faster than the best so far is run again before it counts
_BRIEF, _BRIEF_SAMPLES = 4, 3  # a round among leaders: a quarter of the sampling time, fewer samples


class HostRunner:
    """Compiles, verifies and times the configurations of one kernel; see docs/measuring.md.

    Example::

        with HostRunner(kernel) as runner:
            runner.prepare(range(8))
            measurements = runner.measure(range(8))

    Attributes:
        deadline: when whatever runs is ended, and nothing new begins; may be moved between calls.

    Raises:
        SpecificationError: a part of the specification that cannot be used.
        ToolchainError: no compiler, or one that does not work.
        DeadlineError: the deadline came before anything could be measured.
    """

    def __init__(
        self,
        kernel: Kernel,
        space: SearchSpace | None = None,
        *,
        jobs: int | None = None,
        compile_memory_mib: int = 4096,
        isolation: Isolation | None = None,
        alone: bool = False,
        default: Mapping[str, Value] | None = None,
        deadline: Deadline = NEVER,
    ) -> None:
        """Check the specification and the compiler.

        Args:
            kernel: what to tune.
            space: its configurations; None: the kernel's own space.
            jobs: compilers at work at the same time; None: one for each core.
            compile_memory_mib: address space for each process of a compiler.
            isolation: layers of isolation to use; None: all that work here.
            default: what is compared with; its output is the expected one where there is no other; None: the
                kernel's own default.
            alone: let no compiler run while anything is timed, and cut nothing short: for recordings.
            deadline: when whatever runs is ended, and nothing new begins.
        """
        self.deadline = deadline
        self._kernel = kernel
        self._default = kernel.default_configuration if default is None else dict(default)
        self._space = kernel.space if space is None else space
        self._cores = frozenset(os.sched_getaffinity(0))
        if jobs is not None and not 1 <= jobs <= _MOST_JOBS:
            raise OptionError(f"jobs must be from 1 to {_MOST_JOBS}, got {jobs!r}")
        if compile_memory_mib < 1:
            raise OptionError(f"compile_memory_mib must be at least 1, got {compile_memory_mib!r}")
        self._toolchain = find_toolchain(kernel, deadline)
        if kernel.threads is not None:
            evaluate(kernel.threads, {**kernel.problem, **self._default}, "threads")  # a wrong name shows at once
        plain = kernel_recipe(self._toolchain, kernel, self._default, Path())
        self._digest = source_digest(kernel, plain.command, deadline)
        self._buffers = Buffers(kernel.arguments, kernel.problem)
        self._lock = threading.RLock()
        try:
            self._expected = self._expected_from_files()
        except BaseException:
            self._buffers.close()
            raise
        self._best_ms = inf
        self._alone = alone
        self._closed = False
        self._folder = _temporary_folder()
        root = Path(self._folder.name)
        scratch = root / "scratch"
        scratch.mkdir()
        self._pool = CompilePool(
            kernel.source.resolve().parent,
            CompileLimits(kernel.measuring.compile_timeout_s, compile_memory_mib << 20),
            jobs=jobs or len(self._cores),
            cores=self._cores,
            kept_free=core_threads(apart(self._cores)[0]),
        )
        self._worker = Worker([JOB], isolation=isolation)
        try:
            shim = self._compile_shim(root)
        except BaseException:
            self.close()
            raise
        full = kernel.measuring
        brief = replace(full, samples_min=min(full.samples_min, _BRIEF_SAMPLES), sampling_s=full.sampling_s / _BRIEF)
        self._launcher = Launcher(self._worker, shim, self._buffers, full, scratch)
        self._brief = Launcher(self._worker, shim, self._buffers, brief, scratch)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def task(self) -> Task:
        """What is tuned, where and with what."""
        return Task(
            kernel=self._kernel.name,
            device=cpu_name(),
            problem=dict(self._kernel.problem),
            toolchain=self._toolchain.version,
            source_digest=self._digest,
            settings={
                **measuring_settings(self._kernel, self._toolchain.command, len(self._cores), self._default),
                "alone": self._alone,
            },
        )

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers of isolation in use."""
        return self._worker.layers

    @property
    def remarks(self) -> list[str]:
        """What the user should know about the verification; complete once something was measured."""
        weak = "" if self._expected is None else self._expected.weak
        return [f"verification is weak: zeros in array {weak!r} would pass; lower atol"] if weak else []

    def command(self, number: int) -> tuple[str, ...]:
        """The compiler's command for a configuration, by its id."""
        return self._recipe(self._space.config(number)).command

    def prepare(self, ids: Sequence[int]) -> None:
        """Start compiling these ids in the background."""
        self._pool.request([self._recipe(self._space.config(number)) for number in ids])

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        """Compile, verify and time; one measurement for each id, in the same order.

        Raises:
            RunnerError: there is no right result to compare with, or no process can be started.
            DeadlineError: the deadline has passed, or came before the end.
        """
        with self._lock:
            self._check_open()
            self.prepare(ids)
            return [self._measure(self._space.config(number), self._launcher) for number in ids]

    def learn(self, measured: Measurement) -> None:
        """Let a measurement that was made before count for what is slow and what is suspiciously fast."""
        if measured.status is Status.OK:
            self._best_ms = min(self._best_ms, median(measured.runtimes_ms))

    def compiled(self, ids: Sequence[int]) -> None:
        """Wait until these ids are compiled.

        Raises:
            RunnerError: no compiler can be started.
            DeadlineError: the deadline came first.
        """
        self.prepare(ids)
        for number in ids:
            self._pool.get(self._recipe(self._space.config(number)), self.deadline)

    def remeasure(self, ids: Sequence[int], rounds: int) -> dict[int, list[Measurement]]:
        """Measure some configurations again, interleaved, with nothing else at work.

        A round takes few samples: what counts is how the rounds compare.

        Returns:
            For each id one measurement for each round that was done before the deadline.

        Raises:
            RunnerError: as for `measure`.
        """
        with self._lock:
            self._check_open()
            self.prepare(ids)
            configurations = {number: self._space.config(number) for number in ids}
            found: dict[int, list[Measurement]] = {number: [] for number in configurations}
            recipes = [self._recipe(configuration) for configuration in configurations.values()]
            with suppress(DeadlineError), self._pool.keeping(recipes, self.deadline):
                self._ready_to_check()
                with self._pool.quiet():
                    for turn in range(rounds):
                        order = list(configurations)
                        taken = {
                            number: self._measure(configurations[number], self._brief)
                            for number in (reversed(order) if turn % 2 else order)
                        }
                        for number, measured in taken.items():
                            found[number].append(measured)
            return found

    def close(self) -> None:
        """End all processes and remove all files; calling it twice is allowed."""
        if self._closed:
            return
        self._closed = True
        self._pool.close()
        self._worker.close()
        self._buffers.close()
        self._folder.cleanup()

    def _check_open(self) -> None:
        if self._closed:
            raise RunnerError("this runner is closed; make a new one")

    def _compile_shim(self, root: Path) -> Path:
        """Compile the part that calls the kernel; the first sign of life of the compiler."""
        (root / "tw_call.h").write_text(call_header(self._buffers), "ascii")
        library = self._pool.get(
            library_recipe(self._toolchain, _SHIM, root, [*_SHIM_FLAGS, f"-I{root}"]), self.deadline
        )
        if library.path is None:
            raise ToolchainError(
                f"the compiler {self._toolchain.command[0]!r} cannot compile a plain C file: {library.detail}"
            )
        shim = root / "shim.so"
        library.path.rename(shim)  # out of the pool's hands, which forgets what was not used for long
        return shim

    def _recipe(self, configuration: Mapping[str, Value]) -> Recipe:
        return kernel_recipe(self._toolchain, self._kernel, configuration, Path(self._folder.name))

    def _measure(self, configuration: Mapping[str, Value], launcher: Launcher) -> Measurement:
        """Compile, verify and time one configuration."""
        try:
            self._threads(configuration)
        except SpecificationError as error:
            return Measurement(Status.INVALID, detail=str(error))
        library = self._pool.get(self._recipe(configuration), self.deadline)
        if library.path is None:
            return Measurement(Status.COMPILE_ERROR, compile_s=library.cpu_s, detail=library.detail)
        self._ready_to_check()
        with self._left_alone(configuration):
            if launcher is self._launcher:
                outcome = self._run_among_others(configuration, library.path)
            else:
                outcome = self._run(configuration, library.path, launcher)
        found = Measurement(
            outcome.status,
            outcome.runtimes_ms,
            compile_s=library.cpu_s,
            verify_s=outcome.verify_s,
            benchmark_s=outcome.benchmark_s,
            metrics=outcome.metrics,
            detail=outcome.detail,
            remarks=outcome.remarks,
        )
        if launcher is self._launcher:
            self.learn(found)
        return found

    def _left_alone(self, configuration: Mapping[str, Value]) -> AbstractContextManager[None]:
        """Keep compilers away from what is timed: off its core, or, for several threads, off the machine."""
        if self._alone or self._threads(configuration) > 1:
            return self._pool.quiet()
        return self._pool.timed()

    def _threads(self, configuration: Mapping[str, Value]) -> int:
        """Threads that a configuration runs on."""
        threads = self._kernel.threads
        if threads is None:
            return len(self._cores) if runs_threads(self._kernel) else 1
        number = evaluate(threads, {**self._kernel.problem, **configuration}, "threads")
        if number < 1 or number != int(number):
            raise SpecificationError(
                f"{threads!r} is {number} for {dict(configuration)}; it must be a whole number above 0",
                key="threads",
            )
        return int(number)

    def _run_among_others(self, configuration: Mapping[str, Value], library: Path) -> Outcome:
        """Verify and time; what is clearly slow is cut short, what is suspiciously fast is run twice."""
        cut = self._best_ms < inf and not self._alone
        slow_ms = self._kernel.measuring.slow_factor * self._best_ms if cut else 0.0
        outcome = self._run(configuration, library, self._launcher, slow_ms)
        if outcome.status is not Status.OK:
            return outcome
        if _SUSPICIOUS * median(outcome.runtimes_ms) < self._best_ms < inf:
            outcome = outcome.with_more(self._run(configuration, library, self._launcher))
        return outcome

    def _run(
        self, configuration: Mapping[str, Value], library: Path, launcher: Launcher, slow_ms: float = 0.0
    ) -> Outcome:
        """Verify and time a compiled configuration."""
        threads = self._threads(configuration)
        return launcher.run(
            Run(
                library=library,
                entry=self._kernel.entry,
                threads=threads,
                placement=placement(threads, self._cores, clean_environment()),
                check=self._difference,
                timed=True,
                timeout_s=self._kernel.measuring.timeout_s,
                slow_ms=slow_ms,
                deadline=self.deadline,
            )
        )

    def _difference(self) -> str:
        return "" if self._expected is None else self._expected.difference()

    def _ready_to_check(self) -> None:
        """Have the right results at hand; computed once."""
        verification = self._kernel.verification
        if self._expected is not None or verification.skip:
            return
        outputs = self._reference_outputs() if verification.reference is not None else self._default_outputs()
        self._expected = Expected(outputs, self._buffers, verification)

    def _reference_outputs(self) -> dict[int, Array]:
        """What the reference implementation computes."""
        reference = self._kernel.verification.reference
        if reference is None:
            raise RunnerError("there is no reference")
        defines = [f"-D{name}={macro_text(value)}" for name, value in self._kernel.problem.items()]
        recipe = library_recipe(
            self._toolchain, reference.source, Path(self._folder.name), [*reference.flags, *defines]
        )
        what = f"the reference {reference.entry!r} in {str(reference.source)!r}"
        return self._outputs(what, self._pool.get(recipe, self.deadline), reference.entry, 1)

    def _default_outputs(self) -> dict[int, Array]:
        """What the default configuration computes."""
        configuration = self._default
        what = f"the default configuration {configuration}, whose result all others are compared with,"
        library = self._pool.get(self._recipe(configuration), self.deadline)
        return self._outputs(what, library, self._kernel.entry, self._threads(configuration))

    def _outputs(self, what: str, library: Library, entry: str, threads: int) -> dict[int, Array]:
        """Run something whose results are taken as right."""
        if library.path is None:
            raise RunnerError(f"{what} does not compile: {library.detail}")
        outcome = self._launcher.run(
            Run(
                library=library.path,
                entry=entry,
                threads=threads,
                placement=Placement(),
                check=str,
                timed=False,
                timeout_s=max(_REFERENCE_S, self._kernel.measuring.timeout_s),
                deadline=self.deadline,
            )
        )
        if outcome.status is not Status.OK:
            raise RunnerError(f"{what} fails ({outcome.status}): {outcome.detail}")
        outputs = {number: np.array(self._buffers.result(number)) for number in self._buffers.results}
        for number, array in outputs.items():
            if problem := meaningless(array):
                name = self._buffers.items[number].argument.name
                raise RunnerError(f"{what} cannot tell what is right: {problem} in array {name!r}")
        return outputs

    def _expected_from_files(self) -> Expected | None:
        """Expected outputs from files, or None; looks for the reference's file too, so that a typo shows at once."""
        verification = self._kernel.verification
        if verification.skip:
            return None
        if verification.reference is not None:
            source = verification.reference.source
            if not source.is_file():
                raise SpecificationError(f"no file {str(source)!r}", key="verification.reference.source")
            return None
        numbers = {self._buffers.items[number].argument.name: number for number in self._buffers.results}
        outputs: dict[int, Array] = {}
        for name, path in verification.files.items():
            key = f"verification.files.{name}"
            if name not in numbers:
                known = ", ".join(numbers) or "none"
                raise SpecificationError(f"{name!r} is no array that the kernel writes; these are: {known}", key=key)
            outputs[numbers[name]] = load_array(path, self._buffers.items[numbers[name]], key)
        return Expected(outputs, self._buffers, verification) if outputs else None


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for what is compiled."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="tunewright-")
    except OSError as error:
        raise RunnerError(f"no folder for temporary files ({error}); point TMPDIR to one") from error
    if forbids_programs(Path(folder.name)):
        folder.cleanup()
        raise RunnerError(
            f"libraries cannot be loaded from {folder.name!r} (mounted with noexec); point TMPDIR elsewhere"
        )
    return folder
