"""Scoring optimizers on recorded spaces."""
