"""All code that uses internals of mitmproxy, h11 or CPython, one file for each patch. See docs/dev/mitmproxy-internals.md."""
