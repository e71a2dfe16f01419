"""folder.py: the files of a recording, written in parts."""

import threading
from functools import partial
from typing import Any

import pytest

from tests.support.recorder import EXCHANGE, all_done, files, log, recorder, wait_for
from toolmend.recordings.write.folder import MOST_WRITTEN, _Body
from toolmend.recordings.write.recorder import Recorder

__all__ = ["log", "recorder"]


@pytest.mark.parametrize("sent", [b"data: x\n\n", b"data: y\n\n"], ids=["as it came", "another one"])
def test_much_that_waits_is_written_in_parts(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    """All at once it would take as much memory again, several times."""
    most = MOST_WRITTEN // 8  # what is written is masked, too, which takes its time
    monkeypatch.setattr("toolmend.recordings.write.folder.MOST_WRITTEN", most)
    written = list[int]()
    write = _Body.write

    def noted(body: _Body, data: bytes, *args: Any, **given: Any) -> None:
        written.append(len(data))
        write(body, data, *args, **given)

    monkeypatch.setattr(_Body, "write", noted)
    go_on = threading.Event()
    recording, chunk = recorder.start(EXCHANGE), b"data: x\n\n" * 1000
    recorder.put(recording._folder, partial(wait_for, go_on.is_set))
    count = 3 * most // len(chunk)
    for _ in range(count):
        recording.passed(chunk, chunk if sent in chunk else sent * 1000)
    go_on.set()
    all_done(recorder)
    assert max(written) <= most + len(chunk)
    recording.finish("complete")
    recorder.close(60)
    assert files(recording.folder)["upstream.sse"] == chunk * count
    assert files(recording.folder)["client.sse"] == sent * 1000 * count
