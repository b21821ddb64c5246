"""Search spaces: parameters, constraints, the valid configurations and the moves between them."""

from tunewright.space.constraint import Constraint
from tunewright.space.identity import Difference
from tunewright.space.parameters import RESERVED_NAMES, Value
from tunewright.space.searchspace import GroupInfo, SearchSpace
from tunewright.space.t1 import read_t1_space
from tunewright.space.values import parse_values

__all__ = [
    "RESERVED_NAMES",
    "Constraint",
    "Difference",
    "GroupInfo",
    "SearchSpace",
    "Value",
    "parse_values",
    "read_t1_space",
]
