"""Text made to be expensive, for each dialect and for the redactor: twice the text costs twice the time (R15).

Rule of this file: CPU time alone is looked at, and of that only how it grows from 10 KB to 1 MB.
"""

import json
import time
from collections.abc import Callable
from math import log
from typing import Any

import pytest

from tests.patterns import all_patterns
from tests.support.other_api_streams import gemini_request, ollama_request
from tests.support.redacted_exchange import exchange
from tests.support.streams import WEATHER, chunk, event
from tests.support.upstream_answers import asked as asked_in
from toolmend.apis import APIS
from toolmend.config.settings import Settings
from toolmend.core.events import Frame, TextDelta
from toolmend.core.sse import SseDecoder
from toolmend.dialects import DIALECTS
from toolmend.pipeline.pipeline import Pipeline
from toolmend.pipeline.transformers.stop_sequences import StopSequences
from toolmend.recordings.read.secret_scan import scan
from toolmend.requests.translate import translate
from toolmend.secrets.echo_mask import EchoMask
from toolmend.secrets.redactor import Redactor
from toolmend.secrets.request_secrets import secrets_of

pytestmark = pytest.mark.slow

SIZES = (10_000, 100_000, 1_000_000)
"""Characters. What is quadratic shows from the first to the second, and need not be waited for with the third; nor what is slow."""
SLOW = 0.2
"""Seconds of CPU for the second."""
GROWTH = 1.2
"""The exponent from the first to the last; what is quadratic has 2. Over a hundredfold a machine under load adds little to it."""
STEEP = 1.6
FLOOR = 0.0005
"""Seconds; a beginning that costs less says nothing."""
UNITS = ("<", "{", "[", '"', "\\", "\n", "a", '{"', "<|", "`")
PATTERNS = all_patterns()
REQUESTS = {"gemini": gemini_request(), "ollama": ollama_request()}


def by_rule() -> dict[str, list[str]]:
    """The patterns of each dialect: the first that it mends."""
    found: dict[str, list[str]] = {}
    for name, pattern in PATTERNS.items():
        if (
            pattern.rules
            and all(isinstance(delta, str) for delta in pattern.deltas)
            and not (names := found.setdefault(pattern.rules[0], []))
        ):
            names.append(name)
    return found


RULES = by_rule()


def inputs(text: str) -> dict[str, Callable[[int], str]]:
    """Calls that go on for ever at three places, each with things that nearly end, or open, or quote; and calls without end."""
    places = sorted({0, *(round(len(text) * part) for part in (0.5, 0.85))})
    made: dict[str, Callable[[int], str]] = {}
    for at in places:
        before = text[:at]
        for unit in (*UNITS, text[max(0, at - 12) : at] or "x", text[-12:-1], text[:12], before or "y"):
            made[f"{unit[:20]!r} at {at}"] = lambda size, before=before, unit=unit: before + unit * (size // len(unit) + 1)  # type: ignore[misc]
    return made


def cpu(pattern: Any, text: str) -> float:
    """Seconds of this process for a stream of it, in deltas of 400 characters."""
    events = [event(chunk({pattern.field: text[at : at + 400]})) for at in range(0, len(text), 400)]
    pipeline = Pipeline(pattern.request)
    start = time.process_time()
    for data in events:
        pipeline.feed(data)
    pipeline.close()
    return time.process_time() - start


def growth(run: Callable[[int], float]) -> float:
    """How the time grows with the size. What is suspicious is measured again, and the best of some runs counts."""
    best = dict.fromkeys(SIZES, 1e9)
    for _ in range(8):
        for size in SIZES:
            best[size] = min(best[size], run(size))
            found = log(max(best[size], FLOOR) / max(best[SIZES[0]], FLOOR)) / log(max(size, 2 * SIZES[0]) / SIZES[0])
            if found > STEEP or (size != SIZES[0] and best[size] > SLOW):
                break
        if found <= GROWTH:
            break
    return found


@pytest.mark.parametrize("opener", sorted({opener for dialect in DIALECTS.values() for opener in dialect.openers}))
def test_openers(opener: str) -> None:
    """One and the same in a row, as a model writes it that is caught in a loop."""
    pattern = PATTERNS[RULES["kimi_k2"][0]]
    for between in ("", "\n"):
        assert growth(lambda size, row=opener + between: cpu(pattern, row * (size // len(row)))) <= GROWTH, between  # type: ignore[misc]


NESTED = (
    ('{"arguments": ', "}"), ('[{"arguments": ', "}]"), ('{"name": "task", "x": ', "}"), ('{"name": ', "}"), ('{"function": ', "}"),
    ('{"type": "function", "function": {"arguments": ', "}}"), ('{"parameters": [', "]}"), ('{"id": "1", "args": {"x": ', "}}"),
    ("[", "]"), ("[task(a=", ")]"), ("task(a={'x': ", "})"), ('<tool_call>{"arguments": ', "}</tool_call>"),
)  # fmt: skip


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
@pytest.mark.parametrize("nested", NESTED, ids=lambda pair: pair[0])
def test_nested(nested: tuple[str, str], *, closed: bool) -> None:
    """One in the other, of which none is a call: where the outer one is given up, the inner one is tried."""
    begin, end = nested

    def run(size: int) -> float:
        many = size // len(begin)
        text = begin * many + "1" + (end * many if closed else "")
        pipeline = Pipeline(WEATHER, settings=Settings(dialects=tuple(DIALECTS)))
        start = time.process_time()
        for at in range(0, len(text), 400):
            pipeline.feed(event(chunk({"content": text[at : at + 400]})))
        pipeline.close()
        assert not pipeline.error
        return time.process_time() - start

    assert growth(run) <= GROWTH


@pytest.mark.parametrize("rule", RULES)
def test_dialects(rule: str) -> None:
    for name in RULES[rule]:
        pattern = PATTERNS[name]
        for case, make in inputs("".join(pattern.deltas)).items():
            assert growth(lambda size, make=make, pattern=pattern: cpu(pattern, make(size))) <= GROWTH, (name, case)  # type: ignore[misc]


P = "]<]minimax[>["


def element(inner: str) -> str:
    return f'{P}<invoke name="get_weather">{P}<place>{inner}{P}</place>{P}</invoke>'


AT_ONCE: dict[str, Callable[[int], str]] = {
    "members of a list": lambda n: f"<|tool_call_start|>[get_weather(a=[{'1,' * (n // 2)}])]<|tool_call_end|>",
    "quotes in a string": lambda n: f"<|tool_call_start|>[get_weather(a='{"it's " * (n // 5)}')]<|tool_call_end|>",
    "calls that nearly begin in a call": lambda n: "<tool_call>get_weatherplace</arg_key>" * (n // 37),
    "elements": lambda n: element(f"{P}<a>" * (n // 31) + f"{P}</a>" * (n // 31)),
    "elements, and ends of others": lambda n: element(f"{P}<a>" * (n // 31) + f"{P}</b>" * (n // 31)),
    "ids that are taken": lambda n: "".join(
        f"<|tool_call_begin|>{header}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
        for count in [min(2000, n // 200)]
        for header in (*(f"functions.get_weather:{count + at}" for at in range(count)), *["get_weather"] * count)
    ),
}
"""Texts that come in one event, as those of a whole answer do."""


@pytest.mark.parametrize("name", AT_ONCE)
def test_at_once(name: str) -> None:
    def run(size: int) -> float:
        data = event(chunk({"content": AT_ONCE[name](size)}))
        pipeline = Pipeline(WEATHER, settings=Settings(dialects=tuple(DIALECTS)))
        start = time.process_time()
        pipeline.feed(data)
        pipeline.close()
        assert not pipeline.error
        return time.process_time() - start

    assert growth(run) <= GROWTH


KEY_LIKE = (
    # what begins as keys, passwords and codings do
    *("sk-", "eyJ", "eyJa.", "-----BEGIN PRIVATE KEY", "-----BEGIN PRIVATE KEY-----", "-----END ", "Bearer ", "xoxb-", "sk-a-", "pat", "SK"),
    *("//a:", "http", "http://", "://a:b", "a.b+", "%73", "\\u0073", "hunter2", "hunter2hunter", "key=", "key: '", "token", "aB3", "A1b2C3d4/"),
)
TEXTS = ("a", "ab", "END", "EEN", "\n", "\r", "\r\n", "data: {}\r\r", "data: {}\r\n\r\n", ":", "data:", "data: {", "\\", '"', '\\"', "{", "[", '{"a":', '{"a":[', "1", "-", ",", "\u2028", "é")


def asked(text: str) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], "tools": [{"name": text[:64], "api_key": text}]}).encode()
    secrets = secrets_of(exchange(request={"content": text}, path=f"/v1/{text[:60_000]}?key={text[:60_000]}"))
    Redactor((*secrets[:3], "hunter2hunter2")).body(body)


def scanned(text: str) -> None:
    scan({"request.json": json.dumps({"content": text}).encode(), "client.json": text.encode()}, {"A_TOKEN": "hunter2hunter2"})


def echoed(text: str) -> None:
    mask = EchoMask(("hunter2hunter2", "sk-aaaaaaaaaaaaaaaab"))
    for at in range(0, len(text), 400):
        mask.feed(event(chunk({"content": text[at : at + 400]})))
    mask.close()


def decoded(text: str) -> None:
    decoder = SseDecoder()
    data = text.encode()
    for at in range(0, len(data), 400):
        decoder.feed(data[at : at + 400])
    decoder.close()
    SseDecoder().feed(data + data.replace(b"\n", b"\r\n\r\n"))


def stopped(text: str) -> None:
    stops = StopSequences(("a" * 999 + "b", "ENDEND", "\n\n\n\nHuman:"), lambda _: None)
    StopSequences((f"{text}b", "c"), lambda _: None).feed(Frame(None, (TextDelta(text),)))
    for at in range(0, len(text), 40):
        stops.feed(Frame(None, (TextDelta(text[at : at + 40]),)))
    stops.close()


def through(source: str, target: str) -> Callable[[str], None]:
    def through(text: str) -> None:
        """As text, as reasoning, and as the arguments of a call."""
        tools = [one["function"] | {"type": "function"} for one in WEATHER["tools"]] if target == "responses" else WEATHER["tools"]
        pipeline = Pipeline(WEATHER | {"tools": tools}, source=source, target=target)
        call = {"index": 0, "id": "c", "function": {"name": "get_weather", "arguments": ""}}
        pipeline.feed(event(chunk({"tool_calls": [call]})))
        for at in range(0, len(text), 400):
            piece = text[at : at + 400]
            pipeline.feed(event(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})))
            pipeline.feed(event(chunk({"reasoning_content": piece})))
            pipeline.feed(event(chunk({"content": piece})))
        pipeline.feed(event(chunk({}, "tool_calls")) + b"data: [DONE]\n\n")
        pipeline.close()

    return through


HEADER = event(chunk({"content": "<|tool_call_begin|>functions.get_w"}))


def entry(index: int, **more: Any) -> dict[str, Any]:
    return {"index": index, "function": {"arguments": "{"}, **more}


MANY: dict[str, Callable[[int], list[bytes]]] = {
    "comments, while a call may have begun": lambda n: [HEADER, *[b": x\n\n"] * n],
    "keep-alives, while a call may have begun": lambda n: [HEADER, *[b"data: : x\n\n"] * n],
    "nothing said, while a call may have begun": lambda n: [HEADER, *[event(chunk({"content": ""}))] * n],
    "choices": lambda n: [event(chunk({"content": "a"}, index=index)) for index in range(n)],
    "calls in one event, and more of each in another": lambda n: [
        event(chunk({"tool_calls": [entry(index, function={"name": "task", "arguments": "{"}) for index in range(n)]})),
        event(chunk({"tool_calls": [entry(index) for index in range(n)]})),
    ],
}
"""What is small, and comes often: events of it."""


@pytest.mark.parametrize("name", MANY)
def test_many(name: str) -> None:
    def run(size: int) -> float:
        events = MANY[name](size // 100)
        start = time.process_time()
        pipeline = Pipeline(WEATHER)
        for data in events:
            pipeline.feed(data)
        pipeline.close()
        return time.process_time() - start

    assert growth(run) <= GROWTH


ECHOES: dict[str, Callable[[int], tuple[str, bytes]]] = {
    "beginnings in what is not joined": lambda n: ("hunter2hunter2", b'{"id":"%b"}\n' % (b"hunter2h" * (n // 8))),
    "indices of one object": lambda n: ("hunter2hunter2", b'{"a":"hunter2h",%b"a":1}\n' % (b'"index":1,' * (n // 10))),
    "alternatives to one token": lambda n: ("hunter2hunter2", b'{"top_logprobs":[%b1]}\n' % (b'{"a":"hunter2h"},' * (n // 17))),
    "a long secret in one text": lambda n: ("a" * (n // 2), b'{"content":"%b"}\n' % (b"a" * n)),
    "a long secret in deltas": lambda n: ("a" * (n // 2) + "b", b'{"content":"aaaaaaaaaaaaaaaaaaaaaaaa"}\n' * (n // 40)),
    "a long secret that is quoted": lambda n: ("a" * 50_000, b'{"content":"%b"}\n' % (b"a" * n)),
}
"""Secrets, as a request may carry them, and lines that are made for them."""


@pytest.mark.parametrize("name", ECHOES)
def test_echoes(name: str) -> None:
    def run(size: int) -> float:
        secret, body = ECHOES[name](size)
        mask = EchoMask(secrets_of(exchange(request={"token": secret})))
        start = time.process_time()
        mask.feed(body)
        mask.close()
        return time.process_time() - start

    assert growth(run) <= GROWTH


def keys(count: int, name: str = "") -> list[str]:
    return [f"{name}sk-Ab{n:08}Cd{n * 7919:010}Ef" for n in range(count)]


FOUND: dict[str, Callable[[int], dict[str, bytes]]] = {
    "in one text": lambda n: {"client.json": json.dumps({"content": " ".join(keys(n // 30))}).encode()},
    "on a line each": lambda n: {"client.json": "\n".join(keys(n // 30)).encode()},
    "in deltas": lambda n: {"client.sse": b"".join(event(chunk({"content": f"{key} "})) for key in keys(n // 30))},
    "with names": lambda n: {"client.json": json.dumps({"content": " ".join(keys(n // 30, "A_TOKEN="))}).encode()},
}
"""Files in which much is found."""


@pytest.mark.parametrize("name", FOUND)
def test_findings(name: str) -> None:
    def run(size: int) -> float:
        files = FOUND[name](size)
        start = time.process_time()
        scan(files, {})
        return time.process_time() - start

    assert growth(run) <= GROWTH


def told(text: str) -> None:
    """A request of many short turns."""
    turns = [{"role": role, "content": text[at : at + 50]} for at in range(0, len(text), 100) for role in ("user", "assistant")]
    for target in ("chat", "responses"):
        translate({"model": "m", "max_tokens": 9, "system": text, "messages": turns}, "messages", target)  # type: ignore[arg-type]


def raw(api: str) -> Callable[[str], None]:
    request = REQUESTS.get(api) or asked_in(api, ("task", {"description": {"type": "string"}}))

    def raw(text: str) -> None:
        """What came is no stream of the API: in chunks, as the answer to a request with tools, and whole."""
        pipeline = Pipeline(request, source=api, target=api)
        for at in range(0, len(text), 400):
            pipeline.feed(text[at : at + 400].encode())
        pipeline.close()
        Pipeline(request, source=api, target=api).message(text.encode())

    return raw


PARTS: dict[str, tuple[Callable[[str], None], tuple[str, ...]]] = {
    "redaction": (asked, KEY_LIKE),
    "the scan for secrets": (scanned, KEY_LIKE),
    "echoes": (echoed, KEY_LIKE),
    "SSE": (decoded, TEXTS),
    **{f"what is not {api}": (raw(api), TEXTS) for api in APIS},
    "stop sequences": (stopped, TEXTS),
    "chat": (through("chat", "chat"), TEXTS),
    "chat to messages": (through("chat", "messages"), TEXTS),
    "chat to responses": (through("chat", "responses"), TEXTS),
    "requests": (told, TEXTS),
}


@pytest.mark.parametrize("part", PARTS)
def test_parts(part: str) -> None:
    """Everything else that reads what strangers write."""
    use, units = PARTS[part]
    for unit in units:

        def run(size: int, unit: str = unit) -> float:
            text = unit * (size // len(unit))
            start = time.process_time()
            use(text)
            return time.process_time() - start

        assert growth(run) <= GROWTH, unit


def used(id_: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": id_, "type": "function", "function": {"name": "task", "arguments": "{}"}}]}


@pytest.mark.parametrize("target", ["chat", "messages", "responses"])
def test_stop_sequences(target: str) -> None:
    def run(size: int) -> float:
        stops = [f"s{at}" for at in range(size // 10)]
        start = time.process_time()
        translate({"model": "m", "max_tokens": 9, "stop_sequences": stops, "messages": [{"role": "user", "content": "Hi"}]}, "messages", target)  # type: ignore[arg-type]
        return time.process_time() - start

    assert growth(run) <= GROWTH


def result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "r"}


TURNS: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "results without a call": lambda n: [result(f"c{at}") for at in range(n)],
    "calls without a result": lambda n: [used(f"c{at}") for at in range(n)],
    "calls of one id": lambda n: [turn for _ in range(n) for turn in (used("c"), result("c"))],
}
"""Of a conversation that is not as an upstream wants it."""


@pytest.mark.parametrize("target", ["messages", "responses"])
@pytest.mark.parametrize("name", TURNS)
def test_turns(name: str, target: str) -> None:
    def run(size: int) -> float:
        messages = [{"role": "user", "content": "Hi"}, *TURNS[name](size // 100)]
        start = time.process_time()
        translate({"model": "m", "messages": messages}, "chat", target)  # type: ignore[arg-type]
        return time.process_time() - start

    assert growth(run) <= GROWTH
