"""Stand-in for OpenTuner."""

import argparse
from types import SimpleNamespace


def argparsers():
    return [argparse.ArgumentParser(add_help=False)]


def Result(**what):
    return SimpleNamespace(**what)


class IntegerParameter:
    """Numbers from low to high."""

    def __init__(self, name, low, high):
        self.name, self.ends = name, (low, high)


class ConfigurationManipulator:
    """A list of parameters."""

    def __init__(self):
        self.parameters = []

    def add_parameter(self, parameter):
        self.parameters.append(parameter)
