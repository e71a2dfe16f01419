"""Data: hosts of LLM APIs, profiles and facts of models, limits of requests, routes."""
