"""har.py: a recording as an HTTP archive."""

from datetime import datetime, timedelta
from pathlib import Path

from tests.support.exported import RAW, SENT, entries, flows, make


def test_a_har(tmp_path: Path) -> None:
    raw, rewritten = entries(make(tmp_path))
    assert raw["startedDateTime"] == "2026-11-20T18:34:01.000+00:00"
    assert raw["timings"] == {"send": 0, "wait": 500.0, "receive": 250.125}
    assert raw["time"] == 750.125
    assert raw["request"]["queryString"] == [{"name": "beta", "value": "true"}, {"name": "key", "value": "[REDACTED]"}]
    assert raw["request"]["postData"]["text"] == '{"stream":true}'
    assert (raw["response"]["content"]["text"].encode(), rewritten["response"]["content"]["text"].encode()) == (RAW, SENT)
    assert raw["_chunks"] == [{"off": 0, "len": 20, "t_ms": 0.0}, {"off": 20, "len": 16, "t_ms": 250.125}]
    assert [entry["comment"].split(":")[0] for entry in (raw, rewritten)] == ["raw", "rewritten"]
    assert (rewritten["_toolmend"]["side"], rewritten["_toolmend"]["rules"]) == ("rewritten", ("kimi_k2",))


def test_a_body_that_is_no_text(tmp_path: Path) -> None:
    raw, rewritten = entries(make(tmp_path, {"upstream.sse": b"data: \xff\n\n", "client.sse": b""}))
    assert (raw["response"]["content"]["text"], raw["response"]["content"]["encoding"]) == ("ZGF0YTog/woK", "base64")
    assert rewritten["response"]["content"] == {"size": 0, "mimeType": "text/event-stream", "text": ""}
    assert raw["request"]["postData"]["text"] == ""


def test_a_partial_recording(tmp_path: Path) -> None:
    folder = make(tmp_path, state="upstream_error", error="peer closed connection", wait_ms=None, recorded_at="2026-11-20T18:34:01")
    (flow,) = flows(folder)
    assert flow.error
    assert flow.error.msg == "peer closed connection"
    raw, _ = entries(folder)
    assert raw["comment"].endswith("; it ended as upstream_error")
    assert datetime.fromisoformat(raw["startedDateTime"]).utcoffset() == timedelta(0)
