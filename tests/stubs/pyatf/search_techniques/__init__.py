"""Techniques."""

from .auc_bandit import AUCBandit

__all__ = ["AUCBandit"]
