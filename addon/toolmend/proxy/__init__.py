"""The mitmproxy addon: hooks, WebSocket, Envoy's external processor, and patches of mitmproxy."""
