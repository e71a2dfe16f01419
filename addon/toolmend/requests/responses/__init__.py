"""Requests of OpenAI Responses."""
