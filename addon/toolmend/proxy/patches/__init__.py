"""All that reaches into the internals of mitmproxy, h11 or CPython, a file each. See docs/dev/mitmproxy-internals.md."""
