"""What happens to the events between decoding and encoding, one file per concern.

A transformer has `feed(frame) -> Iterable[Frame]` and `close() -> Iterable[Frame]`. Every frame that goes in comes out exactly
once and in order, changed or not, now or later: the pipeline's failing open counts on it.
"""
