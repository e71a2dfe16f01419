"""Recordings on disk: written, found, read, compared, exported, pruned, played back, and made fixtures.

`write/recorder.py` writes them, and `read/replay.py` plays them through the pipeline.
"""
