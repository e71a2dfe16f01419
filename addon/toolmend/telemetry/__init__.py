"""Who is told what happens to streams, beside the log: Prometheus and OpenTelemetry. `events.py` has what is told."""
