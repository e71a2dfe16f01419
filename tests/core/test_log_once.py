"""log_once.py: one message per kind, and no failure of the log's own."""

from toolmend.core.log_once import LogOnce


def test_each_kind_is_logged_once() -> None:
    lines: list[str] = []
    log_once = LogOnce(lines.append)
    for kind, message in (("disk", "full"), ("disk", "still full"), ("store", "gone")):
        log_once(kind, message)
    assert (lines, log_once.kinds) == (["full", "gone"], {"disk", "store"})
    log_once.kinds.clear()
    log_once("disk", "full again")
    assert lines[2:] == ["full again"]


def test_a_log_that_raises_is_ignored() -> None:
    def log(_: str) -> None:
        raise OSError

    LogOnce(log)("disk", "full")
