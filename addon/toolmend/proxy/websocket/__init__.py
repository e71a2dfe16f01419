"""Responses over WebSocket: each frame is mended as the event that it would be over HTTP."""
