"""Runners: what measures a configuration, one file each."""
