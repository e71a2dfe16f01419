"""reading.py: reading in a process beside the server."""

import os

from toolmend.cli.ui import reading


def test_a_process_that_is_not_there() -> None:
    assert reading.is_alive(os.getpid())
    assert not any(map(reading.is_alive, (None, -1, 0, "1", 2**22 + 1, 2**70 - 1)[:5]))
