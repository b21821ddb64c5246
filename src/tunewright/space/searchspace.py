"""The search space: ids 0..n-1 of the valid configurations, and what searches ask about them."""

from __future__ import annotations

import itertools
import math
import operator
import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tunewright.errors import EmptySpaceError, OptionError, SpaceError, SpaceTooLargeError
from tunewright.space.build import build
from tunewright.space.columns import Domain
from tunewright.space.condition import satisfies
from tunewright.space.constraint import Constraint, Rule, check_constants, resolve
from tunewright.space.factors import Factors
from tunewright.space.group import make_group
from tunewright.space.identity import Difference, compare, digest
from tunewright.space.parameters import Value, check_parameters, show
from tunewright.space.recorded import Row, code_columns
from tunewright.space.spread import spread
from tunewright.space.storage import Parts, as_text, read, write
from tunewright.space.view import distances, features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["GroupInfo", "SearchSpace"]


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """Parameters that constraints tie together: how many of their combinations are valid, out of how many."""

    names: tuple[str, ...]
    size: int
    cartesian: int


class SearchSpace:
    """The valid configurations of some parameters under constraints, numbered 0..size-1. Immutable.

    Args:
        parameters: names and ordered value lists (ints, floats, bools or strings).
        constraints: expressions, functions or `Constraint` objects that valid configurations satisfy.
        constants: named values that constraints may use, such as a device's limits.

    Raises:
        ParameterError: an unusable name or value list.
        ConstraintError: a constraint that cannot be read or evaluated.
        EmptySpaceError: no configuration satisfies the constraints.
        SpaceTooLargeError: constraints tie together more combinations than can be enumerated.

    >>> space = SearchSpace({"x": [16, 32, 64], "y": [1, 2, 4]}, ["x * y <= limit"], constants={"limit": 64})
    >>> len(space), space.cartesian
    (6, 9)
    >>> space.config(4)
    {'x': 32, 'y': 2}
    >>> space.find({"x": 64, "y": 2}) is None
    True
    >>> [space.config(i) for i in space.neighbors(4, "step")]
    [{'x': 16, 'y': 2}, {'x': 32, 'y': 1}]
    """

    def __init__(
        self,
        parameters: Mapping[str, Sequence[object]],
        constraints: Sequence[Rule] = (),
        *,
        constants: Mapping[str, object] | None = None,
    ) -> None:
        values = check_parameters(parameters)
        known = check_constants(constants or {}, values)
        finished, groups, notes = build(values, resolve(constraints, values, known), known)
        self._setup(Parts(values, finished, known, groups, notes))

    def _setup(self, parts: Parts) -> None:
        self._values = dict(parts.parameters)
        self._constraints = tuple(parts.constraints)
        self._constants = dict(parts.constants)
        self._notes = tuple(parts.notes)
        self._factors = Factors(tuple(self._values), parts.groups)
        self._lookup = {name: {v: code for code, v in enumerate(vs)} for name, vs in self._values.items()}

    @classmethod
    def _from_parts(cls, parts: Parts) -> SearchSpace:
        space = cls.__new__(cls)
        space._setup(parts)
        return space

    @classmethod
    def from_configurations(
        cls,
        parameters: Mapping[str, Sequence[object]],
        rows: Sequence[Row] | npt.NDArray[np.integer],
    ) -> SearchSpace:
        """Return the space whose valid configurations are the given ones, as recorded files list them.

        Args:
            parameters: names and ordered value lists.
            rows: tuples of values in the order of the parameters, mappings of names to values, or an integer
                array (rows x parameters) of value indices. Ids follow the lexicographic order of value
                indices, not the order of the rows.

        Raises:
            SpaceError: a row of the wrong length, with other names, with a value that is not listed, or given
                twice.
        """
        values = check_parameters(parameters)
        columns = code_columns(values, rows)
        groups = (make_group(tuple(values), [len(v) for v in values.values()], columns),) if values else ()
        return cls._from_parts(Parts(values, (), {}, groups, ()))

    # What the space is.

    def __len__(self) -> int:
        if self.size > sys.maxsize:
            raise SpaceTooLargeError(f"len() cannot hold {self.size:,} configurations; use space.size")
        return self._factors.size

    @property
    def size(self) -> int:
        """How many configurations are valid; exact, however many."""
        return self._factors.size

    @property
    def cartesian(self) -> int:
        """How many configurations the product of the value lists has."""
        return math.prod(len(values) for values in self._values.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(self._values)

    @property
    def parameters(self) -> Mapping[str, tuple[Value, ...]]:
        """The value list of every parameter."""
        return MappingProxyType(self._values)

    @property
    def constants(self) -> Mapping[str, Value]:
        """The named values that constraints use."""
        return MappingProxyType(self._constants)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints, equal ones once, with the parameters they read and their error counts."""
        return self._constraints

    @property
    def groups(self) -> tuple[GroupInfo, ...]:
        """The factors of the space: sets of parameters that constraints tie together."""
        return tuple(GroupInfo(group.names, group.size, group.cartesian) for group in self._factors.groups)

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say about building the space, such as divisions by zero."""
        return self._notes

    @cached_property
    def digest(self) -> str:
        """A hexadecimal sha256 of names, values and valid set; spellings of constraints do not matter."""
        return digest(self._values, self._factors.groups)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SearchSpace):
            return NotImplemented
        return self is other or self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        names = ", ".join(self._values) or "no parameters"
        return f"SearchSpace({self.size} of {self.cartesian} configurations of {names})"

    def __reduce__(self) -> tuple[Callable[[Parts], SearchSpace], tuple[Parts]]:
        constraints = tuple(as_text(constraint) for constraint in self._constraints)
        parts = Parts(self._values, constraints, self._constants, self._factors.groups, self._notes)
        return self._from_parts, (parts,)

    def noted(self, notes: Sequence[str]) -> SearchSpace:
        """Return the same space with more notes."""
        kept = (*self._notes, *notes)
        return self._from_parts(Parts(self._values, self._constraints, self._constants, self._factors.groups, kept))

    def difference(self, other: SearchSpace) -> Difference:
        """Return what changes from this space's parameters to the other's."""
        return compare(self._values, other._values, same=self.digest == other.digest)

    # One configuration.

    def config(self, id: int) -> dict[str, Value]:  # noqa: A002 - the name of the protocol
        """Return a configuration's parameter values, in parameter order.

        Raises:
            SpaceError: an id outside 0..size-1.
        """
        codes = self._factors.code_row(id)
        return {name: values[code] for (name, values), code in zip(self._values.items(), codes, strict=True)}

    def find(self, config: Mapping[str, object]) -> int | None:
        """Return a configuration's id, or None if it is not valid.

        Raises:
            SpaceError: a parameter is missing, or one is unknown.
        """
        self._check_names(config)
        codes = []
        for name in self._values:
            code = self._code(name, config[name])
            if code is None:
                return None
            codes.append(code)
        return self._factors.find(codes)

    def code_row(self, id: int) -> tuple[int, ...]:  # noqa: A002 - the name of the protocol
        """Return a configuration's value indices in parameter order: `config` for those who compute with it.

        Raises:
            SpaceError: an id outside 0..size-1.
        """
        return self._factors.code_row(id)

    def find_codes(self, codes: Sequence[int]) -> int | None:
        """Return the id with these value indices, or None if they are not valid together.

        Not checked, for speed: there is one index a parameter, and it is within its list.

        >>> space = SearchSpace({"x": [16, 32, 64], "y": [1, 2, 4]}, ["x * y <= 64"])
        >>> space.code_row(4), space.find_codes((1, 1)), space.find_codes((2, 1))
        ((1, 1), 4, None)
        """
        return self._factors.find(codes)

    def nearest(self, config: Mapping[str, object]) -> int:
        """Return the valid id closest to a configuration, valid or not; the lowest of several.

        The distance is the sum over parameters of index difference / (count - 1); 0 or 1 for strings.
        Numbers between listed values lie between their indices.

        Raises:
            SpaceError: a parameter is missing, or one is unknown.
        """
        self._check_names(config)
        return self._factors.nearest([distances(values, config[name]) for name, values in self._values.items()])

    def why_invalid(self, config: Mapping[str, object]) -> list[str]:
        """Return what a configuration breaks: values that are not listed, else the texts of constraints.

        Empty for a valid configuration.

        Raises:
            SpaceError: a parameter is missing, or one is unknown.
        """
        if self.find(config) is not None:
            return []
        unlisted = [
            f"{name} = {config[name]!r} is not one of {', '.join(map(repr, values))}"
            for name, values in self._values.items()
            if self._code(name, config[name]) is None
        ]
        if unlisted:
            return unlisted
        plain = {name: values[self._lookup[name][config[name]]] for name, values in self._values.items()}  # type: ignore[index]
        domains = {name: Domain(values) for name, values in self._values.items()}
        broken = [c.text for c in self._constraints if not satisfies(c, plain, domains, self._constants)]
        return broken or ["it is not among the valid configurations that the space was made from"]

    def require(self, config: Mapping[str, object], what: str = "default") -> int:
        """Return a configuration's id, insisting that it is valid; `what` names it in the message.

        Raises:
            SpaceError: says which rule it breaks and shows the nearest valid configuration.
        """
        found = self.find(config)
        if found is not None:
            return found
        reasons = "; ".join(self.why_invalid(config))
        raise SpaceError(
            f"the {what} configuration ({show(config)}) is not valid: it breaks {reasons}. "
            f"The nearest valid one: {show(self.config(self.nearest(config)))}"
        )

    # Moving about.

    def sample(self, rng: random.Random) -> int:
        """Return a uniformly random id; one call of rng.random() below 2**53 configurations."""
        if self._factors.size < 2**53:
            return int(rng.random() * self._factors.size)
        return rng.randrange(self._factors.size)

    def neighbors(self, id: int, kind: str = "single") -> tuple[int, ...]:  # noqa: A002 - the name of the protocol
        """Return the ids around a configuration, ascending, itself left out.

        Args:
            id: the configuration.
            kind: "single", exactly one parameter differs; "step", one parameter moves to the next value up
                or down that is valid; "box", every parameter's index differs by at most one.

        Raises:
            OptionError: an unknown kind.
            SpaceError: an id outside 0..size-1.
            SpaceTooLargeError: a box of more than 1,000,000 configurations.
        """
        return self._factors.neighbors(id, kind)

    def spread(self, n: int, rng: random.Random | None = None) -> list[int]:
        """Return n distinct ids that cover the space; all of it if it has no more than n.

        The same for the same state of the generator; without one, always the same.

        Raises:
            OptionError: n below 0, or no whole number.
        """
        try:
            count = operator.index(n)
        except TypeError as error:
            raise OptionError(f"cannot spread {n!r} configurations; give a whole number") from error
        if count < 0:
            raise OptionError(f"cannot spread {n} configurations; give 0 or more")
        return spread(self, count, rng or random.Random(0))

    def fix(self, /, **values: object) -> SearchSpace:
        """Return the space with some parameters pinned to one value each.

        Raises:
            SpaceError: an unknown parameter, or a value not in its list.
            EmptySpaceError: no valid configuration has these values.
        """
        for name, value in values.items():
            if name not in self._values:
                raise SpaceError(f"cannot fix {name!r}, which is no parameter; parameters: {', '.join(self._values)}")
            if self._code(name, value) is None:
                raise SpaceError(
                    f"cannot fix {name!r} to {value!r}; its values are {', '.join(map(repr, self._values[name]))}"
                )
        pins = {name: self._lookup[name][value] for name, value in values.items()}  # type: ignore[index]
        parameters = {n: (v[pins[n]],) if n in pins else v for n, v in self._values.items()}
        groups = self._factors.pinned(pins)
        if groups is None:
            raise EmptySpaceError(
                f"no configuration is left with {show(values)}; fix fewer parameters, or other values"
            )
        return self._from_parts(Parts(parameters, self._constraints, self._constants, groups, self._notes))

    # All of it, for spaces small enough.

    @cached_property
    def codes(self) -> npt.NDArray[np.int32]:
        """The value indices of all configurations, size x parameters; read-only.

        Raises:
            SpaceTooLargeError: more than 20 million configurations.
        """
        result = self._factors.codes()
        result.flags.writeable = False
        return result

    def rows(self) -> list[tuple[Value, ...]]:
        """Return all configurations as tuples of values in parameter order, by id.

        Raises:
            SpaceTooLargeError: more than 20 million configurations.
        """
        columns: list[Iterable[Value]] = []
        for values, codes in zip(self._values.values(), self.codes.T, strict=True):
            if len(values) == 1:
                columns.append(itertools.repeat(values[0], self.size))
                continue
            boxed = np.empty(len(values), dtype=object)
            boxed[:] = values
            columns.append(boxed[codes].tolist())
        return list(zip(*columns, strict=True)) if columns else [()]

    @cached_property
    def numeric(self) -> npt.NDArray[np.float64]:
        """The features of all configurations, size x len(numeric_names), in [0, 1]; read-only.

        Raises:
            SpaceTooLargeError: more than 20 million configurations.
        """
        tables, names = self._features
        codes = self.codes
        result = np.empty((self._factors.size, len(names)))
        column = 0
        for number, name in enumerate(self._values):
            if name in tables:
                width = tables[name].shape[1]
                result[:, column : column + width] = tables[name][codes[:, number]]
                column += width
        result.flags.writeable = False
        return result

    @property
    def numeric_names(self) -> tuple[str, ...]:
        """What the columns of `numeric` are: "log2(x)" or "x"; "rank(x)" where it differs; "x=a" for strings.

        A parameter with a single value has no column.
        """
        return self._features[1]

    def codes_of(self, ids: Sequence[int]) -> npt.NDArray[np.int32]:
        """Return the value indices of some configurations, len(ids) x parameters; for spaces of any size.

        Raises:
            SpaceError: an id outside 0..size-1.
        """
        return self._factors.codes_of(ids)

    # Files.

    def save(self, path: str | Path) -> None:
        """Write the space, enumerated, to a file (npz without pickle).

        A constraint that is a function is kept as text.

        Raises:
            SpaceError: the file cannot be written.
        """
        write(
            Path(path),
            Parts(self._values, self._constraints, self._constants, self._factors.groups, self._notes),
        )

    @classmethod
    def load(cls, path: str | Path) -> SearchSpace:
        """Read a space that `save` wrote; nothing is evaluated again.

        Raises:
            SpaceError: the file cannot be read or does not hold a search space.
        """
        return cls._from_parts(read(Path(path)))

    # Helpers.

    @cached_property
    def _features(self) -> tuple[dict[str, npt.NDArray[np.float64]], tuple[str, ...]]:
        return features(self._values)

    def _code(self, name: str, value: Any) -> int | None:
        try:
            return self._lookup[name].get(value)
        except TypeError:
            return None

    def _check_names(self, config: Mapping[str, object]) -> None:
        if not isinstance(config, Mapping):
            raise SpaceError(f"a configuration maps parameter names to values; {config!r} does not")
        if config.keys() == self._values.keys():
            return
        missing = [name for name in self._values if name not in config]
        unknown = [name for name in config if name not in self._values]
        parts = [f"lacks {', '.join(missing)}"] if missing else []
        parts += [f"has unknown parameters {', '.join(map(str, unknown))}"] if unknown else []
        raise SpaceError(
            f"the configuration {' and '.join(parts)}; the parameters are {', '.join(self._values) or 'none'}"
        )
