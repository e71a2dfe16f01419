"""Requests of OpenAI Chat Completions."""
