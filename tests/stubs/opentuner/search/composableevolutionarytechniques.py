"""Members of populations."""

import time


class PopulationMember:
    """One member."""

    def __init__(self, config):
        self.config = config
        self.timestamp = time.time()
