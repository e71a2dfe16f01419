"""Changes to the events between decoding and encoding, one file per concern.

A transformer has `feed(frame) -> Iterable[Frame]` and `close() -> Iterable[Frame]`. Every input frame is output exactly once
and in order, changed or not, now or later: failing open depends on it.
"""
