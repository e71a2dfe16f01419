"""Mode `observe`: every byte as it came, and what would have been mended is told, in the log, the recording and the commands."""

import json
from pathlib import Path

import pytest

from tests.support.addon import ASK, LEAK, MESSAGE, PROSE, Log, Proxy, answered, asked, log, proxy
from tests.support.content_encodings import CODERS
from tests.support.routes import table
from tests.support.streams import stream, tool
from toolmend.cli import main
from toolmend.config.settings import Settings
from toolmend.proxy.dry_run import Observe
from toolmend.recordings.read import replay

__all__ = ["log", "proxy"]


def cut(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


@pytest.mark.parametrize("size", [1, 50, 1 << 20])
@pytest.mark.parametrize("coding", ["", "gzip", "zstd"])
def test_a_leak_passes_and_is_told(proxy: Proxy, log: Log, coding: str, size: int) -> None:
    proxy.set(mode="observe")
    flow = asked()
    coded = CODERS[coding](LEAK) if coding else LEAK
    out = proxy.run(flow, cut(coded, size), **({"content_encoding": coding} if coding else {}))
    assert out == coded
    assert flow.request.headers["accept-encoding"] == "gzip, br"
    assert flow.response
    assert flow.response.headers.get("content-encoding", "") == coding
    assert flow.response.headers["x-kept"] == "yes"
    assert "connection" not in flow.response.headers
    kept = proxy.recording()
    assert (kept["upstream"], kept["client"]) == (LEAK, LEAK)
    assert kept["rules"] == ["kimi_k2", "finish_reason"]
    assert kept["settings"]["mode"] == "observe"
    assert any("openrouter.ai kimi-k2.5: would mend: kimi_k2, finish_reason (recorded in " in line for _, line in log())
    assert flow.comment == "toolmend would mend: kimi_k2, finish_reason"
    assert flow.metadata["toolmend"]["observed"] is True


def test_prose_has_nothing_to_tell(proxy: Proxy, log: Log) -> None:
    proxy.set(mode="observe")
    assert proxy.run(asked(), cut(PROSE, 9)) == PROSE
    assert not any("mend" in line and "would" in line for _, line in log())
    assert proxy.recording()["rules"] == []


def test_a_whole_answer(proxy: Proxy) -> None:
    proxy.set(mode="observe")
    flow = asked()
    response = proxy.open(flow, content_type="application/json")
    response.raw_content = MESSAGE
    proxy.addon.response(flow)
    assert response.raw_content == MESSAGE
    kept = proxy.recording()
    assert kept["client"] == MESSAGE
    assert kept["rules"] == ["kimi_k2", "finish_reason"]


@pytest.mark.parametrize("policy", ["first", "collect", "drain"])
def test_no_policy_ends_an_answer(proxy: Proxy, policy: str) -> None:
    proxy.set(mode="observe", policy=policy)
    body = LEAK.replace(b"data: [DONE]", b"") + PROSE
    assert proxy.run(asked(), cut(body, 70)) == body


def test_the_request_goes_as_it_came(proxy: Proxy, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('mode = "observe"\n[[provider]]\nname = "mine"\nmodels = ["mine-*"]\ntools = "prompt"\n')
    proxy.set(config=str(file))
    body = json.dumps({"model": "mine-7b", "messages": [], "tools": [tool("get_weather")]}, indent=3).encode()
    flow = proxy.ask(asked(body=body))
    assert flow.request.raw_content == body


def test_a_route_translates_all_the_same(proxy: Proxy, tmp_path: Path) -> None:
    proxy.context.options.add_option("connection_strategy", str, "lazy", "of another addon")
    proxy.context.options.add_option("stream_large_bodies", str | None, None, "of another addon")
    file = tmp_path / "own.toml"
    file.write_text('mode = "observe"\n' + table())
    proxy.set(config=str(file))
    ask = json.dumps({"model": "claude", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Hello"}]})
    flow = asked(host="api.anthropic.com", path="/v1/messages", body=ask.encode())
    out = proxy.run(flow, [stream(["Hi"])])
    assert b"event: message_start" in out
    assert "mode" not in proxy.recording()["settings"]


def test_whatever_is_raised_costs_no_byte(proxy: Proxy, monkeypatch: pytest.MonkeyPatch, log: Log) -> None:
    def fail(*_: object) -> bytes:
        raise MemoryError("injected")

    proxy.set(mode="observe")
    monkeypatch.setattr("toolmend.pipeline.dry_run.DryRunPipeline.feed", fail)
    assert proxy.run(asked(), cut(LEAK, 60)) == LEAK
    assert any("observed no further" in line for _, line in log())


def test_another_addons_callable_gets_what_passes(proxy: Proxy) -> None:
    proxy.set(mode="observe")
    flow = proxy.ask(asked())
    response = answered(flow)
    response.stream = bytes.upper
    proxy.addon.responseheaders(flow)
    assert callable(response.stream)
    assert isinstance(getattr(response.stream, "__self__", None), Observe)
    assert response.stream(PROSE) == PROSE.upper()


@pytest.mark.parametrize("off", ["openrouter.ai", "*.ai"])
def test_a_host_that_is_off(proxy: Proxy, log: Log, off: str) -> None:
    """It passes, coded as it is, and is recorded; what is asked of it is not changed either."""
    proxy.set(off=off)
    flow = asked()
    coded = CODERS["gzip"](LEAK)
    assert proxy.run(flow, cut(coded, 40), content_encoding="gzip") == coded
    assert flow.request.headers["accept-encoding"] == "gzip, br"
    assert proxy.run(asked(host="api.deepseek.com", path="/chat/completions"), [LEAK]) != LEAK
    kept = {one["host"]: one for one in proxy.recordings()}
    assert (kept["openrouter.ai"]["client"], kept["openrouter.ai"]["rules"]) == (LEAK, [])
    assert kept["openrouter.ai"]["settings"]["off"] == off
    assert "off" not in kept["api.deepseek.com"]["settings"]
    assert len([line for _, line in log() if ": mended " in line]) == 1


def test_a_rule_that_is_off(proxy: Proxy) -> None:
    proxy.set(off="finish_reason")
    out = proxy.run(asked(), [LEAK])
    assert b"tool_calls" in out
    assert b'"finish_reason":"stop"' in out.replace(b" ", b"")
    kept = proxy.recording()
    assert (kept["rules"], kept["settings"]["off"]) == (["kimi_k2"], "finish_reason")


@pytest.mark.parametrize("setting", [{"mode": "observe"}, {"off": "openrouter.ai"}, {"off": "finish_reason"}], ids=str)
def test_it_can_be_replayed(proxy: Proxy, setting: dict[str, str]) -> None:
    proxy.set(**setting)
    out = proxy.run(asked(), cut(LEAK, 80))
    proxy.addon.done()
    (folder,) = replay.find(proxy.flows)
    kept = replay.load(folder)
    client, rules = replay.replay(kept)
    assert (client, rules) == (out, kept.meta["rules"])


def test_the_commands_say_so(proxy: Proxy, capsys: pytest.CaptureFixture[str]) -> None:
    proxy.set(mode="observe")
    proxy.run(asked(), cut(LEAK, 80))
    proxy.addon.done()
    flows = ("--flows", str(proxy.flows))
    assert main(["flows", *flows]) == 0
    assert "would: kimi_k2, finish_reason" in capsys.readouterr().out
    assert main(["flows", *flows, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recordings"][0]["observed"] is True
    assert main(["explain", *flows, "last"]) == 0
    said = capsys.readouterr().out
    assert "It was observed: nothing was changed. What follows is what would have been changed." in said
    assert "went  " in said
    assert "get_weather" in said
    assert "At the time the client got something else" not in said
    assert main(["show", *flows, "last"]) == 0
    assert "It was only observed, and nothing was changed" in " ".join(capsys.readouterr().out.split())


def test_rewrite_observes(capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    file, request = tmp_path / "a.sse", tmp_path / "request.json"
    file.write_bytes(LEAK)
    request.write_bytes(ASK)
    assert main(["rewrite", str(file), "--request", str(request), "--set", "toolmend_mode=observe"]) == 0
    assert capsysbinary.readouterr().out == LEAK


def test_it_is_said_at_the_start(proxy: Proxy, log: Log) -> None:
    proxy.set(mode="observe")
    proxy.addon.running()
    assert ("INFO", "toolmend: observes, and changes no response") in log()
    assert proxy.addon.settings == Settings(flows=proxy.flows, mode="observe")
