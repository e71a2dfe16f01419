"""One incremental parser for all dialects."""
