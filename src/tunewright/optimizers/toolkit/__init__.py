"""The fast parts that optimizers share."""
