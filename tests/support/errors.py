"""When an error is translated, and the id that it gets."""

from datetime import UTC, datetime

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
ID = "call_0123"
