"""Envoy as the proxy: the ext_proc worker, and the configuration that Envoy needs for it."""
