"""A spool with a recorder, as a worker process has them."""

from toolmend.config.retention import Keep
from toolmend.config.store_url import StoreUrl
from toolmend.recordings.read.library import entries
from toolmend.recordings.write.recorder import Recorder
from toolmend.recordings.write.spool import Spool

URL = StoreUrl("trying://bucket/team")


class Worker:
    """A recorder with a spool, as the addon has them."""

    def __init__(self, url: StoreUrl = URL, keep: Keep = Keep()) -> None:  # noqa: B008  frozen
        self.log: list[str] = []
        self.spool = Spool(url, self.log.append)
        assert self.spool.ready()
        self.recorder = Recorder(self.spool.folder, self.log.append, keep, spool=self.spool)

    def close(self) -> None:
        self.recorder.close()
        self.spool.close()

    @property
    def left(self) -> list[str]:
        """Names of what waits."""
        return [one.name for one in entries(self.spool.folder)]
