"""Converts recordings to formats of other tools."""
