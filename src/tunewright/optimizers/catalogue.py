"""Finding optimizers: the built-in ones by name, anyone's by file."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from tunewright.errors import OptimizerError, OptionError
from tunewright.plan import Optimizer

__all__ = ["exemptions", "hyperparameter_values", "hyperparameters", "load", "names"]

_HERE = Path(__file__).parent
_NOT_OPTIMIZERS = {"__init__", "catalogue"}


def names() -> tuple[str, ...]:
    """Names of the built-in optimizers, sorted."""
    return tuple(sorted(path.stem for path in _HERE.glob("*.py") if path.stem not in _NOT_OPTIMIZERS))


def load(name: str) -> Optimizer:
    """An optimizer by name, or from a file as ``path.py`` or ``path.py:function``.

    A file without a function name must hold one generator function named like the file.

    Raises:
        OptionError: no such optimizer or file.
        OptimizerError: the file cannot be imported or holds no such generator function.

    >>> load("random").__name__
    'random'
    """
    module, function = _find(name)
    return _function(module, function, name.partition(":")[0])


def hyperparameter_values(name: str) -> dict[str, tuple[object, ...]]:
    """The values worth trying of an optimizer's options, as its file's ``HYPERPARAMETERS`` lists them.

    Empty where the file has no such constant. Options that do not change how good a search is, such as
    ``batch``, are not among them.

    Args:
        name: as for `load`.

    Raises:
        OptionError: no such optimizer or file.
        OptimizerError: as for `load`; or the constant names what is no option, or lists no values.

    >>> hyperparameter_values("local_search")["neighborhood"]
    ('single', 'step', 'box')
    """
    module, function = _find(name)
    declared = getattr(module, "HYPERPARAMETERS", {})
    known = hyperparameters(_function(module, function, name))
    if not isinstance(declared, Mapping):
        raise OptimizerError(f"HYPERPARAMETERS of {name} must map options to values, not be {declared!r}")
    for option, values in declared.items():
        if option not in known:
            raise OptimizerError(
                f"HYPERPARAMETERS of {name} names {option!r}; its options are {', '.join(known) or 'none'}"
            )
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise OptimizerError(f"HYPERPARAMETERS of {name} must list values of {option!r}, not {values!r}")
    return {option: tuple(values) for option, values in declared.items()}


def exemptions(name: str) -> frozenset[str]:
    """What an optimizer declares, as ``EXEMPT`` in its file, not to promise: keys of `tunewright.testing.EXEMPTIONS`.

    Args:
        name: as for `load`.

    Raises:
        OptionError: no such optimizer or file.
        OptimizerError: the file cannot be imported, or the constant is no collection of names.

    >>> exemptions("genetic")
    frozenset()
    """
    module, _ = _find(name)
    declared = getattr(module, "EXEMPT", ())
    if isinstance(declared, str) or not isinstance(declared, Collection):
        raise OptimizerError(f"EXEMPT of {name} must be a set of names, not {declared!r}")
    return frozenset(declared)


def hyperparameters(optimizer: Optimizer) -> dict[str, object]:
    """The keyword options of an optimizer with their defaults, `start` left out."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(optimizer).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name != "start"
    }


def _find(name: str) -> tuple[ModuleType, str]:
    """The module that holds an optimizer, and the name of its function."""
    path, _, function = name.partition(":")
    if path.endswith(".py"):
        file = Path(path)
        if not file.is_file():
            raise OptionError(f"optimizer file {path!r} does not exist")
        return _import_file(file), function or file.stem
    if name not in names():
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"; did you mean {close[0]!r}" if close else ""
        raise OptionError(
            f"unknown optimizer {name!r}{hint}. Built in are {', '.join(names())}; or give a file as path.py:function"
        )
    return importlib.import_module(f"tunewright.optimizers.{name}"), name


def _import_file(file: Path) -> ModuleType:
    """Import a file under a name of its own, so that two files of one name do not meet."""
    unique = f"tunewright_optimizer_{sha256(str(file.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(unique, file)
    if spec is None or spec.loader is None:
        raise OptimizerError(f"optimizer file {file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[unique]
        raise OptimizerError(f"optimizer file {file} fails on import: {type(error).__name__}: {error}") from error
    return module


def _function(module: ModuleType, name: str, origin: str) -> Optimizer:
    function = getattr(module, name, None)
    if not inspect.isgeneratorfunction(function):
        raise OptimizerError(
            f"{origin} holds no generator function {name!r}; an optimizer is "
            f"def {name}(space, budget, rng, *, start=()): ... yield [id] ..."
        )
    return function
