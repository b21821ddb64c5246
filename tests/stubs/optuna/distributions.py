"""Distributions as pairs of ends."""


def IntDistribution(low, high):
    return low, high


def CategoricalDistribution(choices):
    return choices[0], choices[-1]
