"""What a kernel is to the tuner: source, arguments, parameters, and how it is verified and measured."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

from tunewright.errors import MetricError, OptionError, SpecificationError
from tunewright.measure import Measurement, Objective
from tunewright.metrics import Metrics
from tunewright.space import Constraint, SearchSpace

__all__ = [
    "DTYPES",
    "FEWEST_ROUNDS",
    "HOST_METRICS",
    "Argument",
    "Init",
    "Kernel",
    "Measuring",
    "Number",
    "Reference",
    "Role",
    "Use",
    "Value",
    "Verification",
    "with_problem",
]

Number = int | float
Value = int | float | bool | str

DTYPES: Mapping[str, str] = {
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}
"""Supported dtypes (numpy's names) and the C type that each is passed as."""


HOST_METRICS = ("calls_per_sample", "clock_mhz", "cpu_ms", "load")
"""Metrics that are measured of C and C++ kernels: ``cpu_ms`` of single threads only, ``clock_mhz`` where it shows."""

FEWEST_ROUNDS = 6
"""Fewer interleaved rounds cannot give a 95 % interval."""


class Role(enum.StrEnum):
    """What the kernel does with an array."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


class Init(enum.StrEnum):
    """How an array is filled before each verification."""

    RANDOM = "random"  # uniform in [0, 1) for floats, the full range 0..127 for integers, from `Argument.seed`
    ZEROS = "zeros"
    ONES = "ones"
    RANGE = "range"  # 0, 1, 2, ... in C order, wrapped to the dtype
    CONSTANT = "constant"  # `Argument.fill`
    FILE = "file"  # a .npy file beside the specification


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of the kernel's entry function, in call order.

    Attributes:
        name: the argument's name, for messages and for constants in expressions.
        dtype: one of `DTYPES`.
        shape: extents in C order; numbers or expressions over the problem sizes. Empty for a scalar.
        role: in, out or inout; scalars are always in.
        init: how an in or inout array is filled; ignored for out arrays, which are poisoned.
        seed: seed of random filling; None: a fixed seed that depends on the position.
        file: path of the .npy file for `Init.FILE`.
        value: a scalar's value; a number or an expression over the problem sizes.
        fill: the value of every element for `Init.CONSTANT`.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...] = ()
    role: Role = Role.IN
    init: Init = Init.RANDOM
    seed: int | None = None
    file: Path | None = None
    value: int | float | str | None = None
    fill: float = 0.0

    def __post_init__(self) -> None:
        """Accept plain texts for the enumerations, and numpy scalars."""
        object.__setattr__(self, "value", _plain(self.value))
        for field_name, kind in (("role", Role), ("init", Init)):
            given = getattr(self, field_name)
            try:
                object.__setattr__(self, field_name, kind(given))
            except ValueError:
                choices = ", ".join(kind)
                raise SpecificationError(
                    f"{given!r} is not one of {choices}", key=f"{self.name}.{field_name}"
                ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How a parameter's value reaches the compiler.

    Attributes:
        define: macro name (``-DNAME=value``), or None for no macro.
        flag: a flag with ``{}`` for the value (``-mprefer-vector-width={}``); for a boolean a flag that is
            given when the value is true; ``{}`` alone for values that are flags themselves. None for no flag.
    """

    define: str | None = None
    flag: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A plain implementation whose outputs are right: a function with the kernel's own signature.

    Attributes:
        source: path of its source file.
        entry: its function.
        flags: compiler flags.
    """

    source: Path
    entry: str
    flags: tuple[str, ...] = ("-O2",)

    def __post_init__(self) -> None:
        """Accept a path as text."""
        object.__setattr__(self, "source", Path(self.source))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """How a result is checked.

    ``|out - expected| <= rtol * |expected| + atol`` for every element; integers must be equal.

    Attributes:
        reference: a C reference; None with no files: the default configuration's own output is the expected
            one.
        files: expected outputs by argument name, .npy files.
        rtol: relative tolerance; None: 32 * eps(dtype) * sqrt(longest extent of any array).
        atol: absolute tolerance; None: rtol times the root mean square of the expected array.
        skip: do not verify at all.
    """

    reference: Reference | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    rtol: float | None = None
    atol: float | None = None
    skip: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """How a configuration is timed and what it may use.

    Attributes:
        warmup: untimed calls before the samples.
        samples_min: timed samples at least.
        samples_max: timed samples at most.
        sampling_s: stop sampling after this many seconds once `samples_min` are taken.
        precision: stop sampling when half the 95 % interval of the median is within this share of it.
        slow_factor: a call that takes more than this times the best median so far ends sampling at once and the
            value is marked as censored; 0 for never.
        timeout_s: wall seconds for verification and timing together, each configuration.
        compile_timeout_s: wall seconds for the compiler, each configuration.
        memory_mib: address space beyond the kernel's own arrays.
        output_kib: bytes written to standard output or any file.
        leaders: how many of the best are measured again; a whole number, or a share of the trials.
        rounds: interleaved rounds of that comparison.

    Raises:
        OptionError: a number outside its range.
    """

    warmup: int = 1
    samples_min: int = 5
    samples_max: int = 50
    sampling_s: float = 0.2
    precision: float = 0.005
    slow_factor: float = 5.0
    timeout_s: float = 10.0
    compile_timeout_s: float = 60.0
    memory_mib: int = 1024
    output_kib: int = 1024
    leaders: int | float = 5
    rounds: int = 9

    def __post_init__(self) -> None:
        for name in ("sampling_s", "timeout_s", "compile_timeout_s"):
            if not 0 < getattr(self, name) < inf:
                raise OptionError(f"{name} must be finite and above 0, got {getattr(self, name)!r}")
        for name in ("precision", "slow_factor"):
            if not 0 <= getattr(self, name) < inf:
                raise OptionError(f"{name} must be finite and at least 0, got {getattr(self, name)!r}")
        for name, least in (("warmup", 0), ("memory_mib", 1), ("output_kib", 1), ("rounds", FEWEST_ROUNDS)):
            if getattr(self, name) < least:
                raise OptionError(f"{name} must be at least {least}, got {getattr(self, name)!r}")
        if not 1 <= self.samples_min <= self.samples_max <= 1_000_000:
            raise OptionError(
                f"samples_min = {self.samples_min} and samples_max = {self.samples_max}: "
                "1 <= samples_min <= samples_max <= 1000000 is needed"
            )
        self.leaders_among(1)

    def leaders_among(self, count: int) -> int:
        """How many of `count` configurations are measured again: at least one of them.

        Raises:
            OptionError: `leaders` is neither a whole number of at least 1 nor a share in (0, 1].

        >>> Measuring(leaders=0.3).leaders_among(2)
        1
        """
        share = self.leaders
        if isinstance(share, bool) or not isinstance(share, int | float):
            allowed = False
        else:
            allowed = share >= 1 if isinstance(share, int) else 0 < share <= 1
        if not allowed:
            raise OptionError(
                f"leaders must be a whole number of at least 1 or a share above 0 and up to 1, not {share!r}"
            )
        return min(count, share if isinstance(share, int) else max(1, round(share * count)))


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel to tune.

    Attributes:
        name: for records and messages.
        language: ``c`` or ``c++``; ``python`` for a function that measures itself or is timed as it is; ``command``
            for a program that prints a number or JSON.
        source: path of the source file; for a command the folder that it runs in, or a file
            there that belongs to it.
        entry: the function to call; in C++ it must be ``extern "C"``. A Python function gets parameters and problem
            sizes as keyword arguments.
        arguments: in call order.
        parameters: tunable parameters, name to ordered values.
        constraints: expressions or callables, see `SearchSpace`.
        problem: problem sizes; constants in every expression, and macros for the compiler.
        default: the configuration a good programmer would write first; missing parameters take their first
            value.
        uses: how a parameter reaches the compiler; by default as a macro of its own name.
        flags: compiler flags for every configuration.
        command: of language ``command``: words, with ``{NAME}`` for the value of a parameter or problem size.
        compiler: command; None: ``CC``/``CXX`` from the environment, else gcc or clang from PATH.
        threads: threads that a configuration runs on: a number or an expression over parameters and problem;
            None: 1, or with ``-fopenmp`` among the flags all cores.
        metrics: derived metrics, name to expression over parameters, problem sizes, ``runtime_ms`` (the median of
            the samples), measured and other derived metrics, see `Metrics`; may be the objective.
        objective: what is optimised.
        verification: how results are checked.
        measuring: how configurations are timed.
    """

    name: str
    source: Path
    entry: str
    arguments: Sequence[Argument]
    parameters: Mapping[str, Sequence[Value]]
    constraints: Sequence[str | Callable[..., object] | Constraint] = ()
    problem: Mapping[str, Value] = field(default_factory=dict)
    default: Mapping[str, Value] = field(default_factory=dict)
    uses: Mapping[str, Use] = field(default_factory=dict)
    language: str = "c"
    flags: Sequence[str] = ("-O3", "-march=native")
    command: Sequence[str] = ()
    compiler: str | None = None
    threads: int | str | None = None
    metrics: Mapping[str, str] = field(default_factory=dict)
    objective: Objective = field(default_factory=Objective)
    verification: Verification = field(default_factory=Verification)
    measuring: Measuring = field(default_factory=Measuring)
    _derived: Metrics = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Accept a path as text; refuse macros that would rewrite the names of arguments."""
        object.__setattr__(self, "source", Path(self.source))
        object.__setattr__(self, "problem", {name: _plain(value) for name, value in self.problem.items()})
        object.__setattr__(self, "default", {name: _plain(value) for name, value in self.default.items()})
        names_seen: set[str] = set()
        for argument in self.arguments:
            if argument.name in names_seen:
                raise SpecificationError(f"two arguments have the name {argument.name!r}", key="arguments")
            names_seen.add(argument.name)
        for name, use in self.uses.items():
            values = self.parameters.get(name, ())
            if use.flag is not None and "{}" not in use.flag and not all(isinstance(v, bool) for v in values):
                raise SpecificationError(
                    f"the flag {use.flag!r} has no {{}} for the value; only booleans do without",
                    key=f"parameters.{name}.flag",
                )
        if self.verification.reference is not None and self.verification.files:
            raise SpecificationError("gives both a reference and files; give one of them", key="verification")
        for key, names in (("default", self.default), ("uses", self.uses)):
            for name in names:
                if name not in self.parameters:
                    close = difflib.get_close_matches(name, self.parameters, n=1)
                    hint = f"did you mean {close[0]!r}?" if close else f"they are {', '.join(self.parameters)}"
                    raise SpecificationError(f"{name!r} is no parameter; {hint}", key=f"{key}.{name}")
        arguments = {argument.name for argument in self.arguments}
        macros = {name: f"problem.{name}" for name in self.problem}
        for name in self.parameters:
            use = self.uses.get(name, Use(define=name))
            if use.define is not None:
                macros[use.define] = f"parameters.{name}"
        for name in sorted(arguments & macros.keys()):
            raise SpecificationError(
                f"the macro {name} would replace the argument of the same name in the source; rename one",
                key=macros[name],
            )
        self._check_metrics()

    def _check_metrics(self) -> None:
        """Refuse derived metrics that cannot be read; where all names are known, also names that nobody gives."""
        measured = HOST_METRICS if self.language in ("c", "c++") else ()
        known = {*self.parameters, *self.problem, *measured}
        try:
            derived = Metrics(self.metrics, taken=known)
            if measured:
                derived.check_names(known)
        except MetricError as error:
            raise SpecificationError(str(error), key="metrics") from error
        object.__setattr__(self, "_derived", derived)

    def with_metrics(self, measurement: Measurement, configuration: Mapping[str, object]) -> Measurement:
        """A measurement of a configuration with the derived metrics added.

        Raises:
            SpecificationError: one of them cannot be computed.
        """
        try:
            return self._derived.added_to(measurement, configuration, self.problem)
        except MetricError as error:
            raise SpecificationError(str(error), key="metrics") from error

    @cached_property
    def space(self) -> SearchSpace:
        """The search space; built once."""
        return SearchSpace(self.parameters, self.constraints, constants=self.problem)

    @property
    def default_configuration(self) -> dict[str, Value]:
        """The default with every parameter named: those it leaves out take their first value."""
        return {name: self.default.get(name, values[0]) for name, values in self.space.parameters.items()}


def _plain(value: Any) -> Any:
    """A numpy scalar as a plain value."""
    return value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value


def with_problem(kernel: Kernel, sizes: Mapping[str, Value]) -> Kernel:
    """The same kernel for other problem sizes.

    Raises:
        OptionError: a size that the kernel does not have.
    """
    if unknown := sorted(sizes.keys() - kernel.problem.keys()):
        known = ", ".join(kernel.problem) or "none"
        raise OptionError(f"no such problem size: {', '.join(unknown)}; {kernel.name} has {known}")
    return replace(kernel, problem={**kernel.problem, **sizes}) if sizes else kernel
