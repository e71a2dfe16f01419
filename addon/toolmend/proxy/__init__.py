"""The mitmproxy addon."""
