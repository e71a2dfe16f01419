"""Plays recordings as a local provider."""
