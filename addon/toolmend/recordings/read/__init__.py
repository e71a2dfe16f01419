"""Finds, reads, compares and explains recordings."""
