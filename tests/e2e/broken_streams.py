"""Streams that break off, by protocol of the client, and what of one has arrived."""

from tests.support.streams import WEATHER, play
from toolmend.pipeline.pipeline import Pipeline

H1, H2 = ("http/1.1",), ("h2", "http/1.1")
READ = ((0.1, b""),)  # time for what was sent to be read, before a reset throws it away


def mended(sent: tuple[tuple[float, bytes], ...]) -> bytes:
    """What is to be had of a stream that is not over."""
    pipeline = Pipeline(WEATHER)
    return b"".join(pipeline.feed(data) for _, data in sent)


def broken_off(sent: tuple[tuple[float, bytes], ...]) -> bytes:
    """What is to be had of a stream that broke off: what was held of it, too."""
    return play(lambda: Pipeline(WEATHER), [data for _, data in sent])


def arrived(sent: tuple[tuple[float, bytes], ...]) -> bytes:
    return b"".join(data for _, data in sent)
