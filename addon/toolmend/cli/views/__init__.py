"""How recordings and flows are displayed: at a terminal, as a page, and in mitmproxy. See document.py."""
