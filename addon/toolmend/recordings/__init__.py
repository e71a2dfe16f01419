"""Recordings on the disk, once they are written: found, read, compared, shown, pruned, played, and made fixtures.

`recorder.py` writes them and `replay.py` plays them through the pipeline; both stand beside the pipeline.
"""
