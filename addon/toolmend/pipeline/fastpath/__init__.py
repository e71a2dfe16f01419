"""Passes runs of equal deltas without decoding each. Everything works without it."""
