"""A search space with a list and random samples."""

import numpy as np


class Searchspace:
    """Made from a list of configurations, or from parameters without constraints."""

    def __init__(self, tune_params, restrictions, max_threads, from_cache=None):
        assert from_cache is not None
        self.tune_params = from_cache["tune_params"]
        self.list = [tuple(config.values()) for config in from_cache["cache"].values()]
        self.size = len(self.list)
        self.neighbors_index = {}
        self.__neighbor_cache = {"adjacent": {"used": 1}}
        self.__dict = {config: i for i, config in enumerate(self.list)}

    def is_param_config_valid(self, config):
        return config in self.__dict

    def get_random_sample(self, n):
        return [self.list[i] for i in np.random.choice(self.size, size=n, replace=False)]

    def get_neighbors_no_cache(self, config, neighbor_method=None):
        return []

    @property
    def memory(self):
        return self.__neighbor_cache
