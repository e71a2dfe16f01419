"""Writes recordings while streams flow."""
