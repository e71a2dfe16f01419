"""`toolmend explain`: what was done to a stream, in words."""

import json
import shlex
from pathlib import Path

import pytest

from tests.support.commands import corrupt, here, run
from tests.support.paths import FLOWS
from toolmend.pipeline.rules import rule

__all__ = ["here"]


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "explain kimi-no")
    assert err == ""
    assert out.splitlines() == [
        "kimi-no-section: kimi-k2.5 at localhost:39885, complete",
        "",
        "kimi_k2, at events 2 to 11 (0.00 s)",
        "  A tool call that the model wrote into its text, in the markup kimi_k2, became a real tool call.",
        "  Why: The provider did not parse the model's own markup, so the client would have shown it as text and run no tool.",
        "",
        "finish_reason, at events 2 to 11 (0.00 s)",
        f"  {rule('finish_reason').what}",
        f"  Why: {rule('finish_reason').why}",
        "",
        "events 2 to 11 (0.00 s): kimi_k2, finish_reason",
        """  came  text 'Now: <|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Beijing"}<|tool_call_end|>'; finish reason stop""",
        """  went  text 'Now: '; call 0 get_weather (functions.get_weather:0) {"city": "Beijing"}; finish reason tool_calls""",
    ]


def test_explain_what_was_mended_in_form_alone(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(run(capsys, "explain irregular --json")[0])
    assert (document["format"], document["as_recorded"]) == (1, True)
    assert [rule["name"] for rule in document["rules"]] == ["tool_call_index", "tool_call_id"]
    (change,) = document["changes"]
    assert (change["first"], change["last"], change["rules"]) == (2, 3, ["tool_call_index", "tool_call_id"])
    assert '"tool_calls": [{"id": "0"' in change["came"]
    assert '"tool_calls":[{"index":0,"id":"0"' in change["went"]


def test_explain_what_is_not_so_any_more(capsys: pytest.CaptureFixture[str]) -> None:
    corrupt(Path("recorded/2026-11-20/kimi-no-section"))
    out, _ = run(capsys, "explain kimi-no")
    assert "At the time the client got something else: this is what the current toolmend does.\ntry: toolmend verify recorded/" in out


def test_explain_what_was_not_touched(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, f"explain {shlex.quote(str(FLOWS / 'kimi' / 'prose-about-markers'))}")
    assert out.splitlines()[1:] == ["No rule was applied: the client got the upstream's bytes unchanged."]


def test_a_model_does_not_steer_the_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = here / "recorded/2026-11-20/kimi-no-section"
    body = (folder / "upstream.sse").read_bytes()
    assert b'"Now: ' in body
    (folder / "upstream.sse").write_bytes(body.replace(b'"Now: ', b'"\x1b]\\u001b[2J '))
    out, _ = run(capsys, "explain kimi-no")
    assert "\x1b" not in out
