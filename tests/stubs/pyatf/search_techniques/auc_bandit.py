"""The usual technique: here a random one."""

import random


class AUCBandit:
    """Any configuration."""

    def __init__(self, c=0.05):
        self.c = c

    def choose(self, space):
        return random.choice(space.configurations)
