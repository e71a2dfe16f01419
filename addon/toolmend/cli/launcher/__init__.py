"""Starts the proxy for a user: mitmdump, the variables that lead to it, its CA, and its health."""
