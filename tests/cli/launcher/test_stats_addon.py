"""stats_addon.py: responses and warnings are counted once, the sums stand in one line of the log, and no key is printed."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from mitmproxy.test import taddons, tflow

from toolmend.cli.launcher import stats_addon
from toolmend.cli.launcher.tally import MARK

KEY = "sk-ant-api03-" + "Ab9Cd8Ef7Gh6Ij5Kl4Mn3Op2Qr1St0Uv9Wx8Yz7" * 2


@pytest.fixture
def addon(caplog: pytest.LogCaptureFixture) -> Iterator[Any]:
    caplog.set_level("INFO")
    made = type(stats_addon.addons[0])()
    with taddons.context(made, loadcore=False) as context:
        context.options.add_option("mode", list, [], "")
        context.options.add_option("upstream_auth", str | None, None, "")
        yield made
        logging.getLogger().removeHandler(made)


def sums(caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    """The last line."""
    lines = [record.getMessage() for record in caplog.records if MARK in record.getMessage()]
    found: dict[str, Any] = json.loads(lines[-1].partition(MARK)[2])
    return found


def flow(**noted: Any) -> Any:
    made = tflow.tflow(resp=True)
    if noted:
        made.metadata["toolmend"] = {"rules": [], "error": "", "folder": None, **noted}
    return made


def test_responses_are_counted_once(addon: Any, caplog: pytest.LogCaptureFixture) -> None:
    one = flow(rules=["kimi_k2", "kimi_k2", "finish_reason"], folder="/x/flows")
    addon.response(one)
    addon.error(one)
    addon.response(flow(error="ValueError"))
    addon.response(flow())
    found = sums(caplog)
    assert (found["answers"], found["mended"], found["faults"]) == (2, 1, 1)
    assert found["rules"] == {"kimi_k2": 1, "finish_reason": 1}
    assert found["folder"] == "/x/flows"


def test_an_unanswered_request_is_no_answer(addon: Any, caplog: pytest.LogCaptureFixture) -> None:
    addon.error(flow(unanswered="no upstream"))
    found = sums(caplog)
    assert (found["answers"], found["unanswered"], found["gave_up"]) == (0, 1, "no upstream")


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("toolmend: odd", ["odd"]),
        ("two\nlines", ["two"]),
        ("bell \x07", ["bell ?"]),
        ("x" * 1000, ["x" * stats_addon.MAX_WARNING]),
        (f"{stats_addon.LOGGED_ELSEWHERE}: x", []),
    ],
)
def test_warnings_are_short_and_printable(addon: Any, message: str, kept: list[str]) -> None:
    addon.emit(logging.LogRecord("x", logging.WARNING, "x", 1, message, (), None))
    assert addon.warnings == kept


def test_the_last_warnings_are_kept(addon: Any) -> None:
    for at in range(2 * stats_addon.MAX_WARNINGS):
        addon.emit(logging.LogRecord("x", logging.WARNING, "x", 1, f"w{at}", (), None))
    assert addon.warnings == [f"w{at}" for at in range(stats_addon.MAX_WARNINGS, 2 * stats_addon.MAX_WARNINGS)]


def test_what_it_prints_has_no_key() -> None:
    out = io.StringIO()
    stats_addon.KeyMaskingOutput(out).write(f"POST https://h/?key={KEY}\n")
    assert KEY not in out.getvalue()
    assert out.getvalue().startswith("POST https://h/")


@pytest.mark.parametrize(("body", "streams"), [(None, True), (b"whole", False)])
def test_responses_that_are_still_coming_stream(addon: Any, body: bytes | None, streams: bool) -> None:
    made = flow()
    made.response.raw_content = body
    addon.responseheaders(made)
    assert bool(made.response.stream) == streams
    if streams:
        assert made.response.stream(b"") == []
        assert made.response.stream(b"x") == b"x"
