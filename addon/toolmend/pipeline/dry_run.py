"""A pipeline that reports what its rules would change, but changes nothing: mode `observe`, and a replay of it."""

from .pipeline import Pipeline


class DryRunPipeline(Pipeline):
    """Returns its input. For a client of the upstream's own API."""

    def feed(self, data: bytes) -> bytes:
        super().feed(data)
        return data

    def close(self) -> bytes:
        super().close()
        return b""

    def message(self, body: bytes) -> bytes:
        super().message(body)
        return body
