"""An optimizer as a strategy of Kernel Tuner: one file with a class derived from `OptAlg`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunewright.errors import OptionError
from tunewright.export.collect import Symbol, collect
from tunewright.optimizers import hyperparameters, load
from tunewright.version import __version__

__all__ = ["class_name", "export_strategy"]

_ADAPTER = "tunewright.export.kernel_tuner"
_REPLACED: Mapping[Symbol, Symbol] = {
    ("tunewright.space.searchspace", "SearchSpace"): (_ADAPTER, "SearchSpace"),
    ("tunewright.space", "SearchSpace"): (_ADAPTER, "SearchSpace"),
    ("tunewright", "SearchSpace"): (_ADAPTER, "SearchSpace"),
    ("tunewright.budget", "Clock"): (_ADAPTER, "Clock"),
}


def export_strategy(name: str, options: Mapping[str, Any] | None = None, seed: int | None = None) -> str:
    """The text of a file that needs Kernel Tuner, numpy and the standard library alone.

    Args:
        name: a built-in optimizer, or one in a file as ``path.py`` or ``path.py:function``.
        options: hyper-parameters, instead of the optimizer's defaults.
        seed: of all random numbers; None: each run draws one from Python's global generator.

    Raises:
        OptionError: no such optimizer or option; or it imports what cannot be copied.
        OptimizerError: the file holds no optimizer.

    >>> "class TunewrightAnnealing(ExportedOptimizer):" in export_strategy("annealing")
    True
    """
    optimizer = load(name)
    function = optimizer.__name__
    defaults = hyperparameters(optimizer)
    unknown = [each for each in options or {} if each not in defaults]
    if unknown:
        raise OptionError(f"{name} has no option {unknown[0]!r}; it has {', '.join(defaults) or 'none'}")
    chosen = {**defaults, **(options or {})}
    for each, value in chosen.items():
        if not _literal(value):
            raise OptionError(f"option {each} of {name} cannot be written into a file: {value!r}")
    path = inspect.getsourcefile(optimizer)
    if path is None:
        raise OptionError(f"{name} cannot be exported: its source is not at hand")
    module = optimizer.__module__
    files = {module: Path(path), _ADAPTER: Path(__file__).with_name("kernel_tuner.py")}
    body, (base, called) = collect([(_ADAPTER, "ExportedOptimizer"), (module, function)], files, _REPLACED)
    head = _head(name, function, optimizer.__doc__)
    return f"{head}\n\nfrom __future__ import annotations\n\n{body}\n\n{_class(function, base, called, chosen, seed)}"


def class_name(function: str) -> str:
    """The exported class's name.

    >>> class_name("local_search")
    'TunewrightLocalSearch'
    """
    return "Tunewright" + "".join(word.capitalize() for word in function.split("_"))


def _head(name: str, function: str, doc: str | None) -> str:
    says = inspect.cleandoc(doc or "").partition("\n")[0] or f"The optimizer {function}."
    return f'''"""{says}

The optimizer {function!r} of tunewright as a strategy of Kernel Tuner; needs kernel_tuner and numpy only.
Made by tunewright {__version__} with `tunewright export {Path(name).name}`, under its licence, Apache-2.0.

    from kernel_tuner.strategies.wrapper import OptAlgWrapper

    tune_kernel(..., strategy=OptAlgWrapper({class_name(function)}()), strategy_options={{"time_limit": 60}})
"""'''


def _class(function: str, base: str, called: str, options: Mapping[str, Any], seed: int | None) -> str:
    """The class that Kernel Tuner makes an instance of."""
    declared = "".join(f"        {name}={value!r},\n" for name, value in {"seed": seed, **options}.items())
    passed = "".join(f"            {name!r}: {name},\n" for name in options)
    return f'''class {class_name(function)}({base}):
    """The optimizer {function!r}; its options are arguments."""

    def __init__(
        self,
{declared}    ):
        options = {{
{passed}        }}
        super().__init__({called}, seed, options)
'''


def _literal(value: object) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False
