"""Metrics, spans and observers: what is reported about streams, in addition to the log. `events.py` has the events."""
