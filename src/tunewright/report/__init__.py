"""Pages made from results; nothing is computed here that was not handed over."""
