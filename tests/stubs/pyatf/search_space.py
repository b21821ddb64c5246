"""The product of parameters, filtered by their constraints."""

import inspect
import itertools


class SearchSpace:
    """All configurations that satisfy every constraint, each of which names what it reads."""

    def __init__(self, *tps, enable_1d_access=False, verbosity=2):
        names = [tp.name for tp in tps]
        self.configurations = []
        for values in itertools.product(*(tp.values for tp in tps)):
            config = dict(zip(names, values, strict=True))
            if all(tp.constraint is None or tp.constraint(**_read(tp.constraint, config)) for tp in tps):
                self.configurations.append(config)


def _read(constraint, config):
    return {name: config[name] for name in inspect.signature(constraint).parameters}
