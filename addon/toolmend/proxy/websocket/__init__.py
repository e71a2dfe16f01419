"""Responses over WebSocket: each frame is mended like the event that it would be over HTTP."""
