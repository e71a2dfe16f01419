"""Who is told what happens to streams, beside the log: Prometheus and OpenTelemetry. `metrics.py` has what is told."""
