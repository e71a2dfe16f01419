"""Writes recordings in formats of other tools."""
