"""The addon, flow by flow as mitmproxy calls it; what a real proxy makes of it is e2e's business."""

import asyncio
import gc
import gzip
import json
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import exceptions, http
from mitmproxy.flow import Error
from mitmproxy.test import taddons

from tests.support.addon import ASK, LEAK, MESSAGE, PROSE, SSE, Log, Proxy, answered, asked, log, mended, proxy, sent
from tests.support.content_encodings import BOMBS, CODERS
from tests.support.other_api_streams import converse, gemini_chunks, gemini_request, gemini_sse
from tests.support.streams import WEATHER
from toolmend.config.retention import Keep
from toolmend.config.settings import Settings
from toolmend.pipeline.pipeline import Pipeline
from toolmend.proxy.addon import Toolmend

__all__ = ["log", "proxy"]

# options


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("toolmend_dialects", "kimi_k22", "did you mean kimi_k2"),
        ("toolmend_hosts", "https://a.example/v1", "write the host alone: a.example"),
        ("toolmend_flows", "false", "write off"),
        ("toolmend_config", "/no/such/file.toml", "no such file"),
    ],
)
def test_a_wrong_option_stops_the_start(proxy: Proxy, option: str, value: str, words: str) -> None:
    before = proxy.addon.settings
    with pytest.raises(exceptions.OptionsError, match=f"^{option}: .*{words}"):
        proxy.context.configure(proxy.addon, **{option: value})
    assert proxy.addon.settings == before


def test_a_name_that_mitmproxy_keeps_for_later_is_refused(proxy: Proxy) -> None:
    proxy.context.options.set("toolmend_host=a.example", "other=1", defer=True)
    with pytest.raises(
        exceptions.OptionsError, match=r"no such option: toolmend_host \(did you mean toolmend_hosts\?\), the"
    ):
        proxy.set(dialects="auto")
    proxy.context.options.deferred.pop("toolmend_host")
    proxy.set(dialects="off")
    assert proxy.addon.settings.dialects == ()


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        (["toolmend_hosts=a.example", "toolmend_hosts=b.example"], "toolmend_hosts is set 2 times, give it one value"),
        (["toolmend_hosts"], "toolmend_hosts is set to nothing, give it one value"),
    ],
)
def test_what_would_unload_the_script_without_a_word_is_said(log: Log, specs: list[str], words: str) -> None:
    with taddons.context() as context:
        context.options.set(*specs, "toolmend_flows=off", defer=True)
        context.master.addons.register(Toolmend())
        assert context.options.toolmend_flows == "off"
    ((level, message),) = log()
    assert level == "ERROR"
    assert message.startswith(words)


def test_other_options_are_none_of_our_business(proxy: Proxy) -> None:
    proxy.context.configure(proxy.addon, toolmend_dialects="off")
    proxy.addon.configure({"listen_port"})
    assert proxy.addon.settings == Settings(dialects=(), flows=proxy.flows)


def test_it_says_what_it_listens_to(proxy: Proxy, log: Log) -> None:
    proxy.set(hosts="a.example")
    proxy.addon.running()
    proxy.set(flows="off", dialects="off")
    proxy.addon.running()
    assert [message for _, message in log()] == [
        f"toolmend: listens to the built-in LLM hosts, a.example; dialects: auto; recordings in {proxy.flows}",
        "toolmend: listens to the built-in LLM hosts, a.example; dialects: off; no recordings",
    ]


# what is not ours


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        ({"host": "github.com"}, {}),
        ({"path": "/api/v1/models"}, {}),
        ({"method": "GET"}, {}),
        ({"live": False}, {}),
        ({}, {"content_type": "text/html"}),
        ({}, {"content_type": "application/zip"}),
        ({"host": "api.anthropic.com", "path": "/v1/messages/count_tokens"}, {"content_type": "application/json"}),
    ],
)
def test_everything_else_goes_by_untouched(proxy: Proxy, request_: dict[str, Any], response: dict[str, str]) -> None:
    flow, twin = asked(**request_), asked(**request_)
    if request_:
        proxy.ask(flow)
        assert flow.request.headers == twin.request.headers
    proxy.open(flow, **response)
    assert flow.response
    assert flow.response.headers == answered(twin, **response).headers
    assert flow.response.stream is False
    flow.response.raw_content = LEAK
    proxy.addon.response(flow)
    assert flow.response.raw_content == LEAK
    assert "toolmend" not in flow.metadata
    assert proxy.recordings() == []


def test_a_flow_from_a_file_is_not_changed(proxy: Proxy) -> None:
    flow = asked(live=False)
    answered(flow, LEAK)
    state = flow.get_state()
    for hook in (proxy.addon.requestheaders, proxy.addon.request, proxy.addon.responseheaders, proxy.addon.response):
        hook(flow)
    assert flow.get_state() == state


@pytest.mark.parametrize("late", [False, True], ids=["in time", "late"])
def test_a_pipeline_is_made_while_the_upstream_thinks(proxy: Proxy, *, late: bool) -> None:
    flow = asked()

    async def exchange() -> bytes:
        proxy.ask(flow)
        while not late and not proxy.addon.exchanges[flow].pipeline:  # noqa: ASYNC110  nobody is told
            await asyncio.sleep(0)
        made = proxy.addon.exchanges[flow].pipeline
        response = answered(flow)
        proxy.addon.responseheaders(flow)
        begun = proxy.addon.exchanges[flow].pipeline
        assert begun
        assert late or begun is made
        await asyncio.sleep(0.01)
        assert proxy.addon.exchanges[flow].pipeline is begun
        return sent(response, LEAK) + sent(response, b"")

    assert asyncio.run(exchange()) == mended()


@pytest.mark.parametrize(
    ("about", "options", "accept"),
    [
        ({}, {}, "identity"),
        ({"host": "api.anthropic.com", "path": "/v1/messages"}, {}, "identity"),
        ({"host": "generativelanguage.googleapis.com", "path": "/v1beta/models/g:streamGenerateContent"}, {}, "identity"),
        ({"host": "ollama.com", "path": "/api/chat"}, {}, "identity"),
        ({"host": "bedrock-runtime.us-east-1.amazonaws.com", "path": "/model/m/converse-stream"}, {}, "gzip, br"),
        ({}, {"dialects": "off"}, "gzip, br"),
    ],
)
def test_identity_is_asked_for_where_we_mend(
    proxy: Proxy, about: dict[str, str], options: dict[str, str], accept: str
) -> None:
    proxy.set(**options)
    assert proxy.ask(asked(**about)).request.headers["accept-encoding"] == accept


# streams


@pytest.mark.parametrize("coding", CODERS)
@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_a_leak_is_mended_and_recorded(proxy: Proxy, log: Log, coding: str, size: int) -> None:
    encoding = coding.partition(" of ")[0].partition(" with ")[0].removesuffix(", raw")
    body = CODERS[coding](LEAK)
    flow = asked()
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    assert proxy.run(flow, chunks, content_encoding=encoding, etag="1", content_length="999") == mended()
    assert flow.response
    assert dict(flow.response.headers) == {"content-type": SSE, "transfer-encoding": "chunked", "x-kept": "yes"}
    recording = proxy.recording()
    assert recording["state"] == "complete"
    assert (recording["upstream"], recording["client"]) == (LEAK, mended())
    assert json.loads(recording["request"])["tools"] == WEATHER["tools"]
    assert "upstream_request" not in recording
    noted = flow.metadata["toolmend"]
    assert noted["error"] is None
    assert noted["rules"] == recording["rules"]
    assert "kimi_k2" in noted["rules"]
    assert Path(noted["folder"]).is_dir()
    rules = ", ".join(noted["rules"])
    assert flow.comment == f"toolmend mended {rules}"
    assert flow.marked == ":wrench:"
    assert log() == [("INFO", f"toolmend: openrouter.ai kimi-k2.5: mended {rules} (recorded in {noted['folder']})")]


def test_nothing_to_mend_passes_as_the_same_object_and_nothing_is_said(proxy: Proxy, log: Log) -> None:
    flow = asked()
    response = proxy.open(flow)
    assert callable(response.stream)
    chunk = PROSE[: PROSE.index(b"\n\n") + 2]
    assert response.stream(chunk) is chunk
    assert response.stream(PROSE[len(chunk) :]) == PROSE[len(chunk) :]
    assert response.stream(b"") == b""
    proxy.addon.response(flow)
    assert flow.metadata["toolmend"]["rules"] == []
    assert (flow.comment, flow.marked, log()) == ("", "", [])
    assert proxy.recording()["client"] == PROSE


def test_data_that_is_no_json_passes_and_is_said_once(proxy: Proxy, log: Log) -> None:
    body = b"data: oops\n\ndata: oops\n\n" + PROSE
    flow = asked()
    assert proxy.run(flow, [body]) == body
    folder = flow.metadata["toolmend"]["folder"]
    words = "data that is no JSON passed as it came"
    assert log() == [("INFO", f"toolmend: openrouter.ai kimi-k2.5: {words} (recorded in {folder})")]


@pytest.mark.parametrize(("http_version", "framing"), [("HTTP/1.1", "chunked"), ("HTTP/1.0", None), ("HTTP/2.0", None)])
@pytest.mark.parametrize("upstream", [{"transfer_encoding": "chunked"}, {"content_length": "7"}, {}])
def test_the_client_decides_the_framing(
    proxy: Proxy, http_version: str, framing: str | None, upstream: dict[str, str]
) -> None:
    flow = proxy.ask(asked(http_version=http_version))
    response = answered(flow)
    del response.headers["transfer-encoding"]
    for name, value in upstream.items():
        response.headers[name.replace("_", "-")] = value
    proxy.addon.responseheaders(flow)
    assert response.headers.get("transfer-encoding") == framing
    assert "content-length" not in response.headers


UNTOUCHED = {
    "another API": ({"host": "api.cohere.com", "path": "/v2/chat"}, {}),
    "no JSON": ({"body": b"not json"}, {}),
    "no object": ({"body": b"[1]"}, {}),
    "a request that was streamed": ({"body": None}, {}),
    "a coding of the request that nobody knows": ({"content-encoding": "snappy"}, {}),
    "an error": ({}, {"status": 500}),
    "off": ({}, {"toolmend": "off"}),
}


@pytest.mark.parametrize("name", UNTOUCHED)
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_stream_that_is_not_read_passes_as_it_came_and_is_recorded(proxy: Proxy, name: str, coding: str) -> None:
    request, response = UNTOUCHED[name]
    body = CODERS[coding](LEAK)
    flow = asked(**request)
    headers = {"content_encoding": coding, "etag": "1"} | response
    proxy.set(dialects=headers.pop("toolmend", "auto"))
    assert proxy.run(flow, [body[:70], body[70:]], **headers) == body
    assert flow.response
    assert flow.response.headers == answered(asked(), **headers).headers
    recording = proxy.recording()
    assert (recording["upstream"], recording["client"], recording["rules"]) == (LEAK, LEAK, [])
    assert recording["state"] == "complete"


def test_a_request_body_in_zstd_is_read_and_forwarded_as_it_is(proxy: Proxy) -> None:
    body = CODERS["zstd"](ASK)
    flow = asked(body=body, **{"content-encoding": "zstd"})
    assert proxy.run(flow, [LEAK]) == mended()
    assert (flow.request.raw_content, flow.request.headers["content-encoding"]) == (body, "zstd")
    assert json.loads(proxy.recording()["request"])["model"] == WEATHER["model"]


def test_a_request_that_was_changed_on_the_way_is_recorded_twice(proxy: Proxy) -> None:
    flow = proxy.ask(asked())
    flow.request.content = ASK.replace(b"kimi-k2.5", b"kimi-k9")
    response = answered(flow)
    proxy.addon.responseheaders(flow)
    assert sent(response, LEAK) + sent(response, b"") == mended()
    proxy.addon.response(flow)
    recording = proxy.recording()
    assert json.loads(recording["request"])["model"] == "kimi-k2.5"
    assert json.loads(recording["upstream_request"])["model"] == "kimi-k9"


def test_a_redirected_request_stays_what_it_was_told_to_be(proxy: Proxy) -> None:
    flow = asked()
    proxy.addon.requestheaders(flow)
    flow.request.host, flow.request.path = "10.0.0.7", "/elsewhere"
    proxy.addon.request(flow)
    response = answered(flow)
    proxy.addon.responseheaders(flow)
    assert sent(response, LEAK) + sent(response, b"") == mended()


@pytest.mark.parametrize(
    ("host", "header", "sni", "hosts"),
    [
        ("10.0.0.7", "openrouter.ai", None, ""),
        ("10.0.0.7", "", "openrouter.ai", ""),
        ("openrouter.ai", "localhost:8080", None, ""),
        ("2001:db8::1", "", None, "[2001:db8::1]:443"),
    ],
)
def test_where_a_request_goes_is_told_by_host_header_and_sni(
    proxy: Proxy, host: str, header: str, sni: str | None, hosts: str
) -> None:
    flow = asked(host=host)
    flow.client_conn.sni = sni
    flow.request.headers["host"] = header
    proxy.set(hosts=hosts)
    assert proxy.run(flow, [LEAK]) == mended()


def test_a_coding_that_cannot_be_undone_passes_as_it_is(proxy: Proxy, log: Log) -> None:
    flow = asked()
    assert proxy.run(flow, [b"\x01\x02", b"\x03"], content_encoding="snappy") == b"\x01\x02\x03"
    assert flow.response
    assert flow.response.headers["content-encoding"] == "snappy"
    recording = proxy.recording()
    assert recording["state"] == "partial"
    assert recording["error"] == "the stream passes unchanged, its content-encoding is unknown: 'snappy'"
    ((level, message),) = log()
    assert level == "WARNING"
    assert recording["error"] in message


def test_a_stream_whose_coding_breaks_ends_in_an_error_of_its_api(proxy: Proxy, log: Log) -> None:
    flow = asked()
    prose = PROSE.removesuffix(b"data: [DONE]\n\n")
    body = CODERS["gzip"](prose)
    out = proxy.run(flow, [body, b"garbage", b"more"], content_encoding="gzip")
    assert out.startswith(prose)
    (line,) = out.removeprefix(prose).splitlines()[:-1]
    assert json.loads(line.removeprefix(b"data: "))["error"]["code"] == "undecodable_stream"
    assert out.endswith(b"\n\n")
    recording = proxy.recording()
    assert (recording["state"], recording["upstream"], recording["client"]) == ("upstream_error", prose, out)
    assert recording["error"].startswith("the content encoding is broken: ")
    assert [level for level, _ in log()] == ["WARNING"]


# whole bodies


@pytest.mark.parametrize("coding", ["", "gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("framing", [{"content_length": "5"}, {"transfer_encoding": "chunked"}])
def test_a_message_is_mended(proxy: Proxy, coding: str, framing: dict[str, str]) -> None:
    flow = proxy.ask(asked())
    headers = {"content_type": "Application/JSON", "content_encoding": coding, "etag": "1", **framing}
    response = answered(flow, None, **headers)
    proxy.addon.responseheaders(flow)
    assert response.stream is False
    response.raw_content = CODERS[coding](MESSAGE)
    proxy.addon.response(flow)
    body = Pipeline(WEATHER).message(MESSAGE)
    assert body != MESSAGE
    assert response.raw_content == body
    assert dict(response.headers) == {
        "content-type": "Application/JSON",
        "x-kept": "yes",
        "content-length": str(len(body)),
    }
    recording = proxy.recording()
    assert (recording["upstream"], recording["client"]) == (MESSAGE, body)
    assert flow.metadata["toolmend"]["rules"] == recording["rules"]


@pytest.mark.parametrize(
    ("about", "body", "status"),
    [
        ({}, MESSAGE.replace(b"<|", b"< |"), 200),
        ({}, b"not json", 200),
        ({}, b'{"error": {"message": "busy"}}', 429),
        ({}, MESSAGE, 500),
        ({"host": "api.openai.com", "path": "/v1/responses"}, MESSAGE, 200),
    ],
)
def test_a_message_with_nothing_to_mend_is_not_touched(
    proxy: Proxy, about: dict[str, str], body: bytes, status: int
) -> None:
    flow = proxy.ask(asked(**about))
    response = answered(flow, None, status, content_type="application/problem+json", content_encoding="gzip", etag="1")
    headers = response.headers.copy()
    proxy.addon.responseheaders(flow)
    response.raw_content = coded = gzip.compress(body)
    proxy.addon.response(flow)
    assert response.raw_content is coded
    assert response.headers == headers
    recording = proxy.recording()
    assert (recording["upstream"], recording["client"], recording["status"]) == (body, body, status)


@pytest.mark.parametrize("replay", ["response", None])
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_sse_that_is_served_whole_is_mended_whole(proxy: Proxy, replay: str | None, coding: str) -> None:
    flow = asked()
    flow.is_replay = replay
    response = proxy.open(flow, CODERS[coding](LEAK), content_encoding=coding)
    assert response.stream is False
    proxy.addon.response(flow)
    assert response.raw_content == mended()
    assert response.headers["content-length"] == str(len(mended()))
    assert "content-encoding" not in response.headers
    assert proxy.recording()["client"] == mended()


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_passed_on_unread(proxy: Proxy, log: Log, name: str) -> None:
    make, encoding = BOMBS[name]
    bomb = make()
    flow = asked()
    response = proxy.open(flow, bomb, content_type="application/json", content_encoding=encoding)
    headers = response.headers.copy()
    proxy.addon.response(flow)
    assert response.raw_content is bomb
    assert response.headers == headers
    assert [level for level, _ in log()] == ["WARNING"]
    recording = proxy.recording()
    assert recording["state"] == "partial"
    assert recording["error"].startswith("the response passes unchanged: ")


def test_a_message_that_another_addon_streams_is_left_alone(proxy: Proxy) -> None:
    flow = asked()
    response = proxy.open(flow, content_type="application/json")
    response.stream = True
    proxy.addon.response(flow)
    assert response.raw_content is None
    assert proxy.recording()["state"] == "partial"


# ends


def test_a_flow_that_is_kept_keeps_no_pipeline(proxy: Proxy) -> None:
    """mitmweb keeps all flows, and a pipeline has all tools of its request."""
    flow = asked()
    response = proxy.open(flow)
    pipeline = weakref.ref(proxy.addon.exchanges[flow].pipeline)
    assert pipeline()
    assert sent(response, LEAK) + sent(response, b"")
    proxy.addon.response(flow)
    gc.collect()
    assert pipeline() is None
    assert response.stream is True


@pytest.mark.parametrize(
    ("message", "state"), [("Client disconnected.", "client_closed"), ("peer closed connection", "upstream_error")]
)
def test_a_stream_that_breaks_off(proxy: Proxy, message: str, state: str) -> None:
    flow = asked()
    response = proxy.open(flow)
    assert sent(response, LEAK[:400])
    flow.error = Error(message)
    proxy.addon.error(flow)
    assert sent(response, LEAK[400:])  # after an error more may come
    proxy.addon.response(flow)
    recording = proxy.recording()
    assert (recording["state"], recording["error"], recording["upstream"]) == (state, message, LEAK[:400])
    # an agent that is interrupted hangs up, and some leave behind the end of the message: nothing is wrong
    assert flow.metadata["toolmend"]["error"] == (None if state == "client_closed" else message)


def test_an_error_before_the_response_leaves_nothing(proxy: Proxy) -> None:
    flow = proxy.ask(asked())
    flow.error = Error("no route to host")
    proxy.addon.error(flow)
    assert proxy.recordings() == []
    assert not proxy.addon.exchanges


def test_a_shutdown_in_the_middle(proxy: Proxy) -> None:
    response = proxy.open(asked())
    sent(response, LEAK[:400])
    assert proxy.recording()["state"] == "partial"
    assert sent(response, LEAK[400:])


def test_a_reload_in_the_middle(proxy: Proxy) -> None:
    flow = asked()
    response = proxy.open(flow)
    out = sent(response, LEAK[:400])
    proxy.addon.done()
    new = Toolmend()
    new.lifecycle.settings = proxy.addon.settings
    out += sent(response, LEAK[400:]) + sent(response, b"")
    new.response(flow)
    assert out == mended()
    assert proxy.recording()["state"] == "partial"


def test_a_reload_between_request_and_response(proxy: Proxy) -> None:
    flow = proxy.ask(asked())
    proxy.addon.exchanges.clear()
    response = answered(flow)
    proxy.addon.responseheaders(flow)
    assert sent(response, LEAK) + sent(response, b"") == mended()


def reloaded(proxy: Proxy) -> Toolmend:
    proxy.addon.done()
    new = Toolmend(reloaded=True)
    new.lifecycle.settings = proxy.addon.settings
    return new


def test_what_was_asked_before_a_reload_is_answered_by_whom_it_asked(proxy: Proxy) -> None:
    flow = proxy.ask(asked())
    new = reloaded(proxy)
    response = answered(flow)
    new.responseheaders(flow)
    assert sent(response, LEAK) + sent(response, b"") == mended()
    new.response(flow)
    assert not proxy.addon.exchanges
    assert "toolmend" not in vars(flow)
    assert new.lifecycle.recorder is proxy.addon.lifecycle.recorder
    assert new.lifecycle.recorder
    new.lifecycle.recorder.close()
    assert proxy.recording()["state"] == "complete"


def test_a_reload_before_the_end_of_a_whole_answer(proxy: Proxy) -> None:
    flow = proxy.ask(asked())
    response = answered(flow, content_type="application/json")
    proxy.addon.responseheaders(flow)
    new = reloaded(proxy)
    response.content = MESSAGE
    new.response(flow)
    assert b'"tool_calls"' in (response.content or b"")


def test_a_reload_before_the_end_of_the_request(proxy: Proxy) -> None:
    """Nothing has become of it yet, so it is the new one's."""
    flow = asked()
    proxy.addon.requestheaders(flow)
    new = reloaded(proxy)
    new.request(flow)
    assert new.exchanges[flow].body
    response = answered(flow)
    new.responseheaders(flow)
    assert sent(response, LEAK) + sent(response, b"") == mended()
    new.response(flow)
    assert not new.exchanges
    assert new.lifecycle.recorder
    new.lifecycle.recorder.close()
    assert proxy.recording()["state"] == "complete"


def test_another_folder_while_it_runs(proxy: Proxy, tmp_path: Path) -> None:
    assert proxy.run(asked(), [LEAK]) == mended()
    proxy.set(flows=str(tmp_path / "others"))
    assert proxy.run(asked(), [LEAK]) == mended()
    proxy.set(flows="off")
    flow = asked()
    assert proxy.run(flow, [LEAK]) == mended()
    assert flow.metadata["toolmend"]["folder"] is None
    folders = proxy.flows, tmp_path / "others"
    while not all(any(folder.rglob("message.json")) for folder in folders):  # nobody waits for them
        time.sleep(0.01)
    assert [len(list(folder.rglob("meta.json"))) for folder in folders] == [1, 1]


def test_other_limits_while_it_runs(proxy: Proxy) -> None:
    """What is open goes on being recorded."""
    proxy.set(keep="2GB")
    flow = asked()
    response = proxy.open(flow)
    assert proxy.addon.lifecycle.recorder
    assert proxy.addon.lifecycle.recorder.keep == Keep(2 * 10**9)
    proxy.set(keep="all")
    assert proxy.addon.lifecycle.recorder.keep == Keep()
    sent(response, PROSE)
    sent(response, b"")
    proxy.addon.response(flow)
    assert (proxy.recording()["state"], proxy.recording()["upstream"]) == ("complete", PROSE)


# other APIs


OTHERS = {
    # name: (host, path, request headers, content type, body, API)
    "bedrock": (
        "bedrock-runtime.us-east-1.amazonaws.com",
        "/model/anthropic.claude-x/converse-stream",
        {},
        "application/vnd.amazon.eventstream",
        converse(("messageStart", {"role": "assistant"})),
        "bedrock",
    ),
    "dashscope": (
        "dashscope.aliyuncs.com",
        "/api/v1/services/aigc/text-generation/generation",
        {"x-dashscope-sse": "enable"},
        SSE,
        b'id:1\nevent:result\n:HTTP_STATUS/200\ndata:{"output":{"text":"<|tool_call_begin|>"}}\n\n',
        "dashscope",
    ),
    "cohere": ("api.cohere.com", "/v2/chat", {}, SSE, b'event: message-start\ndata: {"type":"message-start"}\n\n', "cohere"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_an_api_that_is_not_read_passes_and_is_recorded(proxy: Proxy, name: str) -> None:
    """Nothing of its request is touched: it may be signed."""
    host, path, headers, kind, body, api = OTHERS[name]
    flow = asked(host=host, path=path, **headers)
    before = flow.request.headers.copy()
    assert proxy.run(flow, [body[:9], body[9:]], content_type=kind) == body
    assert flow.request.headers == before
    kept = proxy.recording()
    assert (kept["api"], kept["stream"], kept["upstream"], kept["client"]) == (api, True, body, body)


def test_the_model_stands_in_the_path(proxy: Proxy) -> None:
    """Its profile arms the dialects: of Qwen, tags that others may write for their own reasons."""
    leak = gemini_sse(gemini_chunks(['<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>']))
    for model, rules in (("qwen3-coder", ["hermes"]), ("gemini-2.5-pro", [])):
        path = f"/v1/projects/p/locations/l/publishers/x/models/{model}:streamGenerateContent?alt=sse"
        flow = asked(host="us-aiplatform.googleapis.com", path=path, body=json.dumps(gemini_request()).encode())
        proxy.run(flow, [leak])
        assert flow.metadata["toolmend"]["rules"] == rules
    assert {one["model"] for one in proxy.recordings()} == {"qwen3-coder", "gemini-2.5-pro"}


# what goes wrong


def test_another_addon_may_stream_as_well(proxy: Proxy) -> None:
    flow = proxy.ask(asked())
    response = answered(flow)
    response.stream = lambda data: [data[:5], data[5:].upper()]
    proxy.addon.responseheaders(flow)
    out = sent(response, PROSE) + sent(response, b"")
    assert out == PROSE[:5] + PROSE[5:].upper()


def test_stream_large_bodies_does_not_hide_a_stream(proxy: Proxy) -> None:
    flow = proxy.ask(asked())
    response = answered(flow)
    response.stream = True
    proxy.addon.responseheaders(flow)
    assert sent(response, LEAK) + sent(response, b"") == mended()


@pytest.mark.parametrize("coding", ["", "gzip"])
@pytest.mark.parametrize("body", [LEAK, PROSE], ids=["leak", "prose"])
def test_a_stream_that_another_addon_has_come_whole_is_mended_whole(proxy: Proxy, body: bytes, coding: str) -> None:
    """One that is loaded behind ours, and wants to see the body: its coding is no more told by the headers."""
    flow = asked()
    response = proxy.open(flow, **({"content_encoding": coding} if coding else {}))
    response.stream = False
    response.data.content = CODERS[coding](body) if coding else body
    proxy.addon.response(flow)
    assert response.content == (mended() if body == LEAK else body)
    assert response.headers.get("content-encoding", "") == ("" if body == LEAK else coding)
    recording = proxy.recording()
    assert (recording["state"], recording["error"], bool(recording["rules"])) == ("complete", None, body == LEAK)
    assert (recording["upstream"], recording["client"]) == (body, response.content)


@pytest.mark.parametrize("other", [True, lambda data: data], ids=["True", "a callable"])
@pytest.mark.parametrize("stored", [None, LEAK], ids=["forgotten", "stored"])
def test_a_stream_that_another_addon_takes_over_is_told_of(proxy: Proxy, log: Log, other: Any, stored: bytes | None) -> None:
    """Nothing of it is seen, and a recording of nothing is not complete."""
    flow = asked()
    response = proxy.open(flow)
    response.stream = other
    response.data.content = stored
    proxy.addon.response(flow)
    assert response.raw_content == stored
    assert "another addon replaced toolmend's stream callable" in log()[-1][1]
    recording = proxy.recording()
    assert (recording["state"], recording["client"]) == ("partial", b"")
    assert "load it before toolmend" in recording["error"]


def test_a_request_that_went_by_is_told_of(proxy: Proxy, log: Log) -> None:
    flow = asked(body=None)
    assert proxy.run(flow, [LEAK]) == LEAK
    assert "the request passes unread: mitmproxy or another addon streams it" in log()[-1][1]


@pytest.mark.parametrize(("broken", "out"), [("Pipeline", CODERS["br"](LEAK)), ("Recorder", mended())])
def test_a_part_that_cannot_be_made_costs_no_byte(
    proxy: Proxy, log: Log, monkeypatch: pytest.MonkeyPatch, broken: str, out: bytes
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError("injected")

    monkeypatch.setattr(f"toolmend.proxy.lifecycle.{broken}", fail)
    flow = asked()
    assert proxy.run(flow, [CODERS["br"](LEAK)], content_encoding="br") == out
    assert [level for level, _ in log() if level != "INFO"] == ["WARNING"]


def test_a_pipeline_that_gave_up_is_said_once(proxy: Proxy, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Pipeline):
        def feed(self, data: bytes) -> bytes:
            self.error = "ValueError: injected"
            return data

    monkeypatch.setattr("toolmend.proxy.lifecycle.Pipeline", Failing)
    flow = asked()
    assert proxy.run(flow, [LEAK[:99], LEAK[99:]]) == LEAK
    ((level, message),) = log()
    assert level == "WARNING"
    assert "mending stopped" in message
    assert "injected" in flow.metadata["toolmend"]["error"]


def test_a_model_name_cannot_draw_on_the_log(proxy: Proxy, log: Log) -> None:
    body = json.dumps(WEATHER | {"model": "k\r\n\x1b[31m" + "x" * 500}).encode()
    proxy.run(asked(body=body), [LEAK])
    ((_, message),) = log()
    assert message.startswith(f"toolmend: openrouter.ai k???[31m{'x' * 178}: mended ")


def test_a_comment_and_a_mark_of_the_user_stay(proxy: Proxy) -> None:
    flow = asked()
    flow.comment, flow.marked = "mine", ":grapes:"
    proxy.run(flow, [LEAK])
    assert flow.comment.startswith("mine; toolmend mended ")
    assert flow.marked == ":grapes:"


# a request that is not answered


def waiting(proxy: Proxy) -> http.HTTPFlow:
    """A request that has gone out, as it is when the event loop has turned."""

    async def ask() -> http.HTTPFlow:
        flow = proxy.ask(asked())
        for _ in range(3):
            await asyncio.sleep(0)
        return flow

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("message", "told"),
    [("client disconnected", "the client gave up"), ("connection refused by sk-secret-of-the-user", "the upstream did not answer")],
    ids=str,
)
def test_a_request_without_an_answer_is_recorded(proxy: Proxy, message: str, told: str) -> None:
    flow = waiting(proxy)
    flow.error = Error(message)
    proxy.addon.error(flow)
    [recording] = proxy.recordings()
    assert recording["state"] == "unanswered"
    assert told in recording["error"]
    assert "sk-secret" not in recording["error"]
    assert recording["waited_ms"] >= 0
    assert told in flow.metadata["toolmend"]["unanswered"]


def test_an_answer_that_is_none_ends_the_wait(proxy: Proxy) -> None:
    flow = waiting(proxy)
    answered(flow, b"<html>", 502, content_type="text/html")
    proxy.addon.responseheaders(flow)
    [recording] = proxy.recordings()
    assert (recording["state"], recording["status"]) == ("unanswered", 502)
    assert "502, text/html" in recording["error"]


def test_an_answer_ends_the_wait(proxy: Proxy) -> None:
    flow = waiting(proxy)
    response = answered(flow)
    proxy.addon.responseheaders(flow)
    sent(response, PROSE)
    sent(response, b"")
    proxy.addon.response(flow)
    [recording] = proxy.recordings()
    assert (recording["state"], recording["status"]) == ("complete", 200)
