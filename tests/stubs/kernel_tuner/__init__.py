"""Stand-in for Kernel Tuner."""
