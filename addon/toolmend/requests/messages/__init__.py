"""Requests of Anthropic Messages."""
