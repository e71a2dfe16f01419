"""How a recording or a flow is shown: at a terminal, as a page, and in mitmproxy's own screens. See document.py."""
